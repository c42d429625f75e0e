import assert from 'node:assert/strict';
import { type RawCluster, testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { readWithRawConsumer } from '../../support/kafka/raw-kafkajs-reader.ts';
import { openOurCluster, readValues } from '../../support/network/tcp-proxy-cluster.ts';

/** `position 1`, then a transaction that `openId` left open, then `position 2`, committed by another producer. */
async function hidePosition(raw: RawCluster) {
  const topic = await raw.createTopic();
  const openId = uniqueName('stalled');
  const [stalled, other] = [await raw.producer(openId), await raw.producer(uniqueName('other'))];
  await raw.commit(other, topic, 'position 1');
  // The end of a transaction comes some moments after its commit was answered, and must stand before what is left open.
  await raw.viewWhen(topic, ({ lastStableOffset }) => lastStableOffset === 2);
  await (await stalled.transaction()).send({ topic, messages: [{ value: 'never committed' }] });
  await raw.commit(other, topic, 'position 2');
  await raw.viewWhen(topic, ({ lastStableOffset, highWatermark }) => lastStableOffset === 2 && highWatermark === 5);
  return { topic, openId };
}

testOnBroker("H11: raw kafkajs misses a position behind another producer's open transaction", async (_t, raw) => {
  const { topic } = await hidePosition(raw);
  const [offsets] = await raw.admin.fetchTopicOffsets(topic);
  const end = Number(offsets?.high);
  const { records, reachedEnd } = await readWithRawConsumer(raw.client(), { topic, end });
  assert.equal(reachedEnd, true, 'the reading says that it is complete');
  const values = records.map((record) => record.value);
  assert.deepEqual(values, ['position 1']);
});

testOnBroker('H11: our writer ends what its id left open, then reads the newest position', async (t, raw) => {
  const { topic, openId } = await hidePosition(raw);
  const ours = openOurCluster(t, { brokers: raw.brokers });
  assert.deepEqual(await readValues(ours, topic), ['position 1'], 'read before the fence, the position is hidden');
  const positions = await ours.transactionalWriter(openId).open(() => readValues(ours, topic), t.signal);
  assert.deepEqual(positions, ['position 1', 'position 2']);
});
