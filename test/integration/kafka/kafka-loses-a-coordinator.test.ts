import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/support/clock.ts';
import { connectOurs, readCommitted } from '../../support/kafka/kafka-real.ts';
import { placeTopics, rawAdmin } from '../../support/kafka/placed-topics.ts';
import { ownKafkaOrSkip } from '../../support/kafka/stack.ts';
import { innerListeners } from '../../support/network/inner-listener.ts';
import { textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually, outcomeOf } from '../../support/runner/eventually.ts';

const NODES = [1, 2, 3];
const PARTITIONS = Array.from({ length: 20 }, (_, partition) => partition);
const GROUP = 'prices';
const WAITED_MS = 2_000;

/** A process that prices one input of each partition, from the committed offset on. */
function connectProcessor(t: TestContext, brokers: string[]) {
  const cluster = connectOurs(t, { brokers });
  const offsetOf = (partition: number, signal = t.signal) =>
    cluster.consumerOffset(GROUP, { topic: 'inputs', partition }, signal);
  const writers = PARTITIONS.map((partition) => {
    const input = { groupId: GROUP, topic: 'inputs', partition };
    const abortHanging = () => [{ topic: 'prices', partition }];
    const writer = cluster.transactionalWriter(`prices-${partition}`, { abortHanging, abortHangingOffset: input });
    return {
      open: async () => (await writer.open((signal) => offsetOf(partition, signal), t.signal))?.offset ?? 0n,
      async price(offset: bigint) {
        const records = [{ ...textRecord('prices', `of input ${offset}`), partition }];
        await writer.commit({ records, consumerOffset: { ...input, offset: offset + 1n } });
      },
    };
  });
  return {
    offsetOf,
    open: () => Promise.all(writers.map((writer) => writer.open())),
    price: (offset: bigint) => Promise.all(writers.map((writer) => writer.price(offset))),
    prices: () => readCommitted(cluster, 'prices', PARTITIONS, { toHighWatermark: true }),
  };
}

test('the coordinator of the group is lost between a commit and its markers: the next one loads, and no price is answered twice', async (t) => {
  const inner = await innerListeners(NODES.length);
  t.after(() => Promise.all(inner.proxies.map((proxy) => proxy.close())));
  const kafka = await ownKafkaOrSkip(t, { nodes: NODES.length, settings: inner.settings });
  if (!kafka) return;
  const { admin } = await rawAdmin(t, kafka.brokers);
  const { topics } = await admin.fetchTopicMetadata({ topics: ['__consumer_offsets'] });
  const lost = topics[0]?.partitions[0]?.leader ?? 0;
  const replicas = PARTITIONS.map(() => NODES.filter((node) => node !== lost));
  await placeTopics(admin, [
    { topic: 'inputs', replicas },
    { topic: 'prices', replicas },
  ]);

  const first = connectProcessor(t, kafka.brokers);
  await first.open();
  await first.price(0n);
  await Promise.all(PARTITIONS.map((partition) => first.offsetOf(partition)));
  await eventually('all markers have come', first.prices, ({ length }) => length === PARTITIONS.length);
  const markers = Promise.withResolvers<void>();
  t.after(() => markers.resolve());
  const held = { on: 'WriteTxnMarkers', fault: 'delayRequest', times: Number.POSITIVE_INFINITY } as const;
  for (const proxy of inner.proxies) proxy.addRule({ ...held, until: markers.promise });
  await first.price(1n);
  await kafka.kill(lost);

  // As kafkajs itself asks: version 4 of OffsetFetch.
  const shown = async () => {
    const outcome = await outcomeOf(admin.fetchOffsets({ groupId: GROUP, topics: ['inputs'] }));
    return 'value' in outcome ? outcome.value.flatMap(({ partitions }) => partitions.map(({ offset }) => offset)) : [];
  };
  const isStale = (offsets: readonly string[]) =>
    offsets.length === PARTITIONS.length && offsets.every((offset) => offset === '1');
  await eventually('the next coordinator has loaded, and shows the offsets before', shown, isStale);
  const second = connectProcessor(t, kafka.brokers);
  let answers = 0;
  const asked = PARTITIONS.map(async (partition) => {
    const ask = () => outcomeOf(second.offsetOf(partition));
    const outcome = await eventually('its offset is answered', ask, (found) => 'value' in found);
    answers += 1;
    return 'value' in outcome ? outcome.value?.offset : null;
  });
  const opened = second.open();
  opened.catch(() => {});
  await systemClock.sleep(WAITED_MS);
  assert.equal(answers, 0, 'no offset before the markers have come');
  for (const proxy of inner.proxies) proxy.clearRules();
  markers.resolve();
  assert.deepEqual(new Set(await opened), new Set([2n]));
  assert.deepEqual(new Set(await Promise.all(asked)), new Set([2n]));
  await second.price(2n);
  const prices = await second.prices();
  for (const partition of PARTITIONS) {
    const texts = prices.filter((price) => price.partition === partition).map(({ value }) => String(value));
    assert.deepEqual(texts, ['of input 0', 'of input 1', 'of input 2']);
  }
});
