import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ConnectorError } from '../../../src/errors.ts';
import { offsetKey, offsetPartition, offsetRecord, parseReset, readOffsets } from '../../../src/kafka/offset-store.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { kafkaTest, readCommitted, type TestKafka } from '../../support/kafka/kafka-real.ts';

const signal = () => AbortSignal.timeout(600_000);

async function prepare(kafka: TestKafka) {
  const cluster = kafka.connect();
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
  'an offset comes back as it was committed, the newest of its key; a reset leaves its mark',
  async (_t, kafka) => {
    const { topic, key, writer, open } = await prepare(kafka);
    assert.deepEqual(await open(), new Map());
    const first = { version: 1, since: '638-1', walk: null, walkPending: true };
    await writer.commit({ records: [offsetRecord({ topic, key, offset: first })] });
    assert.deepEqual(await open(), new Map([[key, first]]));
    const second = { version: 1, since: '638-2', walk: 2, walkPending: false };
    await writer.commit({ records: [offsetRecord({ topic, key, offset: second })] });
    assert.deepEqual(await open(), new Map([[key, second]]));
    await writer.commit({ records: [offsetRecord({ topic, key, offset: null })] });
    const mark = (await open()).get(key);
    assert.ok(mark !== undefined && !(mark instanceof ConnectorError));
    assert.deepEqual(parseReset(mark), second);
  },
);

kafkaTest('the bytes on the topic are those that Kafka Connect writes', async (_t, kafka) => {
  const { cluster, topic, key, partition, writer, open } = await prepare(kafka);
  await open();
  const offset = { version: 1, since: '638-1', walk: null, pending: true };
  await writer.commit({ records: [offsetRecord({ topic, key, offset }), offsetRecord({ topic, key, offset: null })] });
  const [stored, reset] = await writer.open(() => readCommitted(cluster, topic, [partition]), signal());
  assert.equal(String(stored?.key), '["instruments",{"endpoint":"instruments"}]');
  assert.equal(String(stored?.value), '{"version":1,"since":"638-1","walk":null,"pending":true}');
  assert.deepEqual([String(reset?.key), reset?.value], [key, null]);
  assert.deepEqual(stored?.headers, {});
});

kafkaTest('a broken offset is an error that names where it stands, and lets the writer open', async (_t, kafka) => {
  const { topic, key, partition, writer, open } = await prepare(kafka);
  await open();
  const broken = { ...offsetRecord({ topic, key, offset: {} }), value: Buffer.from('{"since":') };
  await writer.commit({ records: [broken] });
  const error = (await open()).get(key);
  assert.ok(error instanceof ConnectorError);
  assert.equal(error.code, 'OFFSET_UNREADABLE');
  assert.deepEqual(error.fields, { topic, partition, offset: '0', key });
});
