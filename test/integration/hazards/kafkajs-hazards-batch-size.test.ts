import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';

const MAX_MESSAGE_BYTES = 1_048_588;

/** Text that does not compress below the broker's limit. */
const page = Array.from({ length: 25 }, () => randomBytes(50_000).toString('base64url'));

testOnBroker('H9: raw kafkajs makes one batch of one send, and the broker refuses it', async (_t, raw) => {
  const topic = await raw.createTopic();
  const producer = await raw.producer(uniqueName('large'));
  const transaction = await producer.transaction();
  const sent = transaction.send({ topic, messages: page.map((value) => ({ value })) });
  await assert.rejects(sent, /larger than the max message size/);
});

testOnBroker(
  'H9: our writer cuts a page into batches that the broker takes, in order and in one transaction',
  async (t, raw) => {
    const topic = await raw.createTopic();
    const writer = openOurCluster(t, raw).transactionalWriter(uniqueName('ours'));
    await writer.open(noPosition, t.signal);
    await writer.commit({ records: page.map((value) => textRecord(topic, value)) });
    const view = await raw.viewWhen(topic, ({ committed }) => committed.length === page.length);
    const values = view.committed.map((record) => record.value);
    assert.deepEqual(values, page);
    const data = view.batches.filter((batch) => !batch.control);
    assert.ok(data.length > 1 && data.every((batch) => batch.bytes <= MAX_MESSAGE_BYTES));
    assert.equal(view.batches.length - data.length, 1, 'one transaction, one marker');
  },
);
