import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { KafkajsOptions } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { offsetKey, offsetPartition, offsetRecord, readOffsets } from '../../../src/kafka/offset-store.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { createTopic, kafkaTest, readCommitted, type TestKafka } from '../../support/kafka/kafka-real.ts';

const signal = () => AbortSignal.timeout(600_000);

async function prepare(kafka: TestKafka, options: Partial<KafkajsOptions> = {}) {
  const cluster = kafka.connect(options);
  const prefix = `test-${randomUUID()}`;
  const { offsets } = topicPlan({ prefix, names: {}, partitions: 6, replicationFactor: 1 });
  await cluster.ensureTopics([offsets], { create: true });
  const key = offsetKey('instruments', 'instruments');
  const partition = offsetPartition(key);
  const writer = cluster.transactionalWriter(`${prefix}-sources-${partition}`);
  const open = () => writer.open((stop) => readOffsets(cluster.logReader, offsets.name, partition, stop), signal());
  return { cluster, topic: offsets.name, key, partition, writer, open };
}

kafkaTest(
  'an opening reads the offset behind the open transaction of another id once that has ended',
  async (t, kafka) => {
    // It waits for 4 s.
    const { cluster, topic, key, partition, writer, open } = await prepare(kafka, {
      tuning: { transactionTimeoutMs: 2_000, openGraceMs: 4_000 },
    });
    await open();
    const [first, second] = [{ since: '638-1' }, { since: '638-2' }];
    await writer.commit({ records: [offsetRecord({ topic, key, offset: first })] });
    const admin = kafka.plain().producer({ transactionalId: `${topic}-admin`, maxInFlightRequests: 1 });
    t.after(() => admin.disconnect());
    await admin.connect();
    const hiding = await admin.transaction();
    await hiding.send({ topic, messages: [{ key: 'k', value: 'never committed', partition }] });
    await writer.commit({ records: [offsetRecord({ topic, key, offset: second })] });
    assert.equal((await readCommitted(cluster, topic, [partition])).length, 1, 'the newest offset is hidden');
    await assert.rejects(open(), {
      code: 'TRANSACTION_HANGS',
      message: /kafka-transactions\.sh .*find-hanging --topic/,
    });
    const opened = open();
    await hiding.abort();
    assert.deepEqual(await opened, new Map([[key, second]]));
  },
);

kafkaTest('the offset of a group is read once the transaction that commits it has ended', async (t, kafka) => {
  const cluster = kafka.connect();
  const { name: topic } = await createTopic(cluster);
  const groupId = `${topic}-group`;
  const producer = kafka.plain().producer({ transactionalId: topic, maxInFlightRequests: 1 });
  t.after(() => producer.disconnect());
  await producer.connect();
  const asked = async (offset: string) => {
    const transaction = await producer.transaction();
    await transaction.sendOffsets({
      consumerGroupId: groupId,
      topics: [{ topic, partitions: [{ partition: 0, offset }] }],
    });
    const found = cluster.consumerOffset(groupId, { topic, partition: 0 }, signal());
    const committed = found.then((one) => one?.offset);
    const first = await Promise.race([committed, systemClock.sleep(500).then(() => 'no answer yet')]);
    await transaction.commit();
    return [first, await committed];
  };
  assert.deepEqual(await asked('7'), ['no answer yet', 7n]);
  assert.deepEqual(await asked('9'), ['no answer yet', 9n]);
});
