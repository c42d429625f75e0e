import { type TestContext, test } from 'node:test';
import { seededRandom } from '../../simulation/random.ts';
import { SEED, writePagesThroughFaults } from '../../support/kafka/faulty-pages.ts';
import { connectOurs } from '../../support/kafka/kafka-real.ts';
import { viewPartition } from '../../support/kafka/kafka-wire-log.ts';
import { placeTopics, rawAdmin } from '../../support/kafka/placed-topics.ts';
import { proxiedBrokersOrSkip } from '../../support/kafka/proxied-brokers.ts';
import type { FaultRule } from '../../support/network/tcp-proxy-faults.ts';
import { outcomeOf } from '../../support/runner/eventually.ts';

const NODES = 3;
const PARTITIONS = [0, 1, 2, 3, 4, 5] as const;
/** After so many pages a partition goes to another broker. */
const PAGES_PER_MOVE = 2;
const TOPIC = 'rows';
const OFFSETS = 'positions';

const ALWAYS = Number.POSITIVE_INFINITY;
const FAULTS: readonly FaultRule[] = [
  { on: 'Produce', fault: 'cutRequest', chance: 0.03 },
  { on: 'Produce', fault: 'cutAnswer', chance: 0.03 },
  { on: 'Produce', fault: 'dropRequest', chance: 0.01 },
  { on: 'Produce', fault: 'dropAnswer', chance: 0.02 },
  { on: 'Produce', fault: 'deliverLate', delayMs: 300, chance: 0.02 },
  { on: 'Produce', fault: 'delayAnswer', delayMs: 100, chance: 0.1 },
  { on: 'EndTxn', fault: 'cutAnswer', chance: 0.05 },
  { on: 'EndTxn', fault: 'dropAnswer', chance: 0.03 },
  { on: 'AddPartitionsToTxn', fault: 'cutAnswer', chance: 0.03 },
  { on: 'InitProducerId', fault: 'cutAnswer', chance: 0.05 },
  { on: ['FindCoordinator', 'Metadata'], fault: 'cutRequest', chance: 0.02 },
  { on: 'Fetch', fault: 'cutAnswer', chance: 0.03 },
];

/** What an operator does meanwhile: partitions get other leaders, without which no broker would refuse a batch. */
async function operatorAt(t: TestContext, brokers: readonly string[]) {
  const { admin } = await rawAdmin(t, brokers);
  const leaderOf = async (topic: string, partition: number) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)?.leader ?? -1;
  };
  await placeTopics(admin, [
    { topic: TOPIC, replicas: PARTITIONS.map((partition) => [(partition % NODES) + 1]) },
    { topic: OFFSETS, replicas: [[1]] },
  ]);
  return {
    leaderOf,
    /** Gives one partition to the next broker; the move is under way when it resolves. */
    async move(partition: number) {
      // A move before it may still be under way, and then there is enough going on.
      const { value: leader } = { value: 0, ...(await outcomeOf(leaderOf(TOPIC, partition))) };
      if (leader < 1) return;
      const moved = [{ partition, replicas: [(leader % NODES) + 1] }];
      await outcomeOf(admin.alterPartitionReassignments({ topics: [{ topic: TOPIC, partitionAssignment: moved }] }));
    },
  };
}

test('several partitions at once, on three brokers whose answers are lost and partitions moved: every record comes once', async (t) => {
  const started = await proxiedBrokersOrSkip(t, NODES);
  if (!started) return;
  const { kafka, proxies } = started;
  const operator = await operatorAt(t, kafka.brokers);
  const random = seededRandom(SEED);
  const tuning = {
    requestTimeoutMs: 600,
    initialRetryMs: 20,
    retries: 3,
    maxRetryMs: 100,
    readStallMs: 5_000,
    disconnectMs: 500,
    openBackOff: { initialMs: 20, maximumMs: 200 },
  };
  const brokers = proxies.map(({ address }) => address);
  const ours = connectOurs(t, { brokers, random, tuning });

  const rules = proxies.flatMap((proxy) => FAULTS.map((rule) => proxy.addRule({ times: ALWAYS, ...rule, random })));
  const pages = {
    ours,
    topic: TOPIC,
    offsets: OFFSETS,
    partitions: PARTITIONS,
    pages: 12,
    recordsPerPage: 3,
    view(topic: string, partition: number) {
      const broker = async () => kafka.brokers[(await operator.leaderOf(topic, partition)) - 1] ?? '';
      return viewPartition({ broker, topic, partition });
    },
    async beforePage(page: number) {
      if (page % PAGES_PER_MOVE === 0) await operator.move((page / PAGES_PER_MOVE) % PARTITIONS.length);
    },
  };
  await writePagesThroughFaults(t, pages, rules, () => {
    for (const proxy of proxies) proxy.clearRules();
  });
});
