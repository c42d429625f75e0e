import assert from 'node:assert/strict';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { noPosition, openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

testOnBroker('H16: raw kafkajs accepts a send outside the transaction of a transactional producer', async (_t, raw) => {
  const topic = await raw.createTopic();
  const producer = await raw.producer(uniqueName('outside'));
  const transaction = await producer.transaction();
  await producer.send({ topic, messages: [{ value: 'outside' }] });
  await transaction.abort();
  assert.deepEqual(await raw.values(topic), ['outside'], 'visible although the transaction was aborted');
});

testOnBroker('H16: our writer writes nothing but whole transactions', async (t, raw) => {
  const topic = await raw.createTopic();
  const writer = openOurCluster(t, raw).transactionalWriter(uniqueName('ours'));
  await assert.rejects(writer.commit({ records: [textRecord(topic, 'too early')] }), { code: 'WRITER_CLOSED' });
  await writer.open(noPosition, t.signal);
  await writer.commit({ records: [textRecord(topic, 'inside')] });
  await writer.close();
  await assert.rejects(writer.commit({ records: [textRecord(topic, 'too late')] }), { code: 'WRITER_CLOSED' });
  const { batches } = await raw.viewWhen(
    topic,
    ({ committed }) => committed.map((record) => record.value).join() === 'inside',
  );
  const transactional = batches.map((batch) => batch.transactional);
  assert.deepEqual(transactional, [true, true], 'the records and their marker');
});

testOnBroker(
  'H17: raw kafkajs disconnects and leaves its transaction open, in front of all later records',
  async (_t, raw) => {
    const topic = await raw.createTopic();
    const leaving = await raw.producer(uniqueName('leaving'));
    await (await leaving.transaction()).send({ topic, messages: [{ value: 'left open' }] });
    await leaving.disconnect();
    await raw.commit(await raw.producer(uniqueName('later')), topic, 'committed');
    const view = await raw.viewWhen(topic, ({ highWatermark }) => highWatermark === 3);
    assert.equal(view.lastStableOffset, 0);
    assert.deepEqual(view.committed, [], 'the committed record cannot be seen');
  },
);

testOnBroker('H17: our writer closes only when its transaction has ended', async (t, raw) => {
  const topic = await raw.createTopic();
  const writer = openOurCluster(t, raw).transactionalWriter(uniqueName('ours'));
  await writer.open(noPosition, t.signal);
  const slow = raw.proxy.addRule({ on: ['Produce', 'EndTxn'], fault: 'delayRequest', delayMs: 300, times: 2 });
  const committed = writer.commit({ records: [textRecord(topic, 'committed')] });
  await eventually('the commit is under way', slow.hits, (hits) => hits > 0);
  await writer.close();
  await committed;
  const view = await raw.viewWhen(
    topic,
    ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark && highWatermark === 2,
  );
  const values = view.committed.map((record) => record.value);
  assert.deepEqual(values, ['committed']);
});
