import assert from 'node:assert/strict';
import { type RawCluster, testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { readWithRawConsumer } from '../../support/kafka/raw-kafkajs-reader.ts';
import { openOurCluster, readValues } from '../../support/network/tcp-proxy-cluster.ts';

/**
 * Two aborted transactions interleaved and one committed record behind them; the log begins inside both, at a record of
 * the one that began second and ended second.
 */
async function interleavedAborts(raw: RawCluster) {
  const topic = await raw.createTopic();
  const [one, two] = [await raw.producer(uniqueName('one')), await raw.producer(uniqueName('two'))];
  const [first, second] = [await one.transaction(), await two.transaction()];
  await first.send({ topic, messages: [{ value: 'first, aborted' }] });
  await second.send({ topic, messages: [{ value: 'second, aborted' }] });
  await second.send({ topic, messages: [{ value: 'second, aborted, and the first record of the log' }] });
  await first.send({ topic, messages: [{ value: 'first, aborted' }] });
  await first.abort();
  // An abort is answered before its markers are written: without the wait, the second one's may come first.
  await raw.viewWhen(topic, ({ lastStableOffset }) => lastStableOffset === 1);
  await second.abort();
  await raw.commit(await raw.producer(uniqueName('good')), topic, 'committed');
  // kafkajs finds the leader of this call only for topics that it has asked about before.
  await raw.admin.fetchTopicOffsets(topic);
  await raw.admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '2' }] });
  return { topic, end: await quietEnd(raw, topic, 2) };
}

/** An aborted transaction in which a key looks like the marker of an abort, and one committed record behind it. */
async function abortedMarkerKey(raw: RawCluster) {
  const topic = await raw.createTopic();
  const producer = await raw.producer(uniqueName('zeros'));
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ key: Buffer.alloc(4), value: 'aborted' }, { value: 'aborted too' }] });
  await transaction.abort();
  await raw.commit(await raw.producer(uniqueName('good')), topic, 'committed');
  return { topic, end: await quietEnd(raw, topic, 0) };
}

/** The log's end once no transaction is open; the oracle must agree that one record is visible. */
async function quietEnd(raw: RawCluster, topic: string, from: number): Promise<number> {
  const view = await raw.settled(topic, 0, from);
  const values = view.committed.map((record) => record.value);
  assert.deepEqual(values, ['committed']);
  return view.highWatermark;
}

const TOPICS = [
  ['two interleaved aborted transactions, from inside', interleavedAborts],
  ['an aborted transaction with a key of four zero bytes', abortedMarkerKey],
] as const;

for (const [what, write] of TOPICS) {
  testOnBroker(`H7: raw kafkajs shows aborted records: ${what}`, async (_t, raw) => {
    const { topic, end } = await write(raw);
    const { records, reachedEnd } = await readWithRawConsumer(raw.client(), { topic, end });
    assert.ok(reachedEnd);
    const hasAborted = records.some((record) => record.value?.includes('aborted'));
    assert.ok(hasAborted, `only ${JSON.stringify(records)}: is the hazard gone?`);
  });

  testOnBroker(`H7: our reader shows no aborted record: ${what}`, async (t, raw) => {
    const { topic } = await write(raw);
    assert.deepEqual(await readValues(openOurCluster(t, { brokers: raw.brokers }), topic), ['committed']);
  });
}
