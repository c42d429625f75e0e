import assert from 'node:assert/strict';
import type { PartitionView } from '../../support/kafka/kafka-wire-log.ts';
import { type RawCluster, testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { readWithRawConsumer } from '../../support/kafka/raw-kafkajs-reader.ts';
import { openOurCluster } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Two of these do not fit into one segment of the smallest size, so the cleaner does not join the segments. */
const FILLER = 'x'.repeat(900_000);
/** A reader that goes on asks once or twice for what is there. */
const STUCK_FETCHES = 100;

const SETTINGS = {
  'cleanup.policy': 'compact',
  'segment.bytes': '1048576',
  'segment.ms': String(MINUTE_MS),
  'min.cleanable.dirty.ratio': '0.01',
  'delete.retention.ms': '0',
};

/**
 * A compacted topic with an empty batch at a segment's end. The cleaner keeps a producer's last batch, without records,
 * when all its keys were written again; it ends a segment when the marker of its own transaction begins the next one.
 * Timestamps, not waiting, make the broker begin new segments.
 */
async function topicWithEmptyBatch(raw: RawCluster): Promise<{ topic: string; view: PartitionView }> {
  const topic = await raw.createTopic({ settings: SETTINGS });
  const plain = raw.client().producer();
  await plain.connect();
  const [one, two] = [await raw.producer(uniqueName('one')), await raw.producer(uniqueName('two'))];
  const [first, second] = [await one.transaction(), await two.transaction()];
  const longAgo = String(Date.now() - 2 * HOUR_MS);
  const later = String(Date.now() + 10 * MINUTE_MS);

  await plain.send({ topic, messages: [{ key: 'filler 1', value: FILLER, timestamp: longAgo }] });
  await first.send({ topic, messages: [{ key: 'same', value: 'old', timestamp: longAgo }] });
  await first.commit();
  await second.send({ topic, messages: [{ key: 'same', value: 'new' }] });
  await second.commit();
  await plain.send({ topic, messages: [{ key: 'filler 2', value: FILLER }] });
  await plain.send({ topic, messages: [{ key: 'end', value: 'end', timestamp: later }] });
  await plain.disconnect();

  const view = await eventually(
    'the cleaner has left an empty batch',
    () => raw.view(topic),
    ({ batches }) => batches.some((batch) => batch.recordCount === 0),
  );
  const keys = view.committed.map((record) => record.key);
  assert.deepEqual(keys, ['filler 1', 'same', 'filler 2', 'end']);
  return { topic, view };
}

testOnBroker('H6: raw kafkajs sticks before an empty batch, and asks for it thousands of times', async (_t, raw) => {
  const { topic, view } = await topicWithEmptyBatch(raw);
  const client = raw.client({ socketFactory: raw.proxy.socketFactory });
  const fetches = () => raw.proxy.trace.filter((request) => request.api === 'Fetch').length;
  const isStuck = () => fetches() > STUCK_FETCHES;
  const options = { topic, end: view.highWatermark, isStuck };
  const { records, reachedEnd } = await readWithRawConsumer(client, options);
  assert.equal(reachedEnd, false);
  const keys = records.map((record) => record.key);
  assert.deepEqual(keys, ['filler 1']);
});

testOnBroker('H6: our reader passes an empty batch and reads to the end', async (t, raw) => {
  const { topic } = await topicWithEmptyBatch(raw);
  const keys: (string | undefined)[] = [];
  const begin = performance.now();
  await openOurCluster(t, raw).logReader.readToEnd({
    topic,
    partitions: [0],
    onRecord: (record) => keys.push(record.key?.toString()),
    signal: AbortSignal.timeout(600_000),
  });
  assert.deepEqual(keys, ['filler 1', 'same', 'filler 2', 'end']);
  const fetches = raw.proxy.trace.filter((request) => request.api === 'Fetch').length;
  assert.ok(fetches < 20, `${fetches} fetches`);
  t.diagnostic(`read to the end in ${Math.round(performance.now() - begin)} ms with ${fetches} fetches`);
});
