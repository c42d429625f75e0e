import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Admin } from 'kafkajs';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { connectKafka } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import type { WriterTransaction } from '../../../src/kafka/transactional-writer.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { viewPartition } from '../../support/kafka/kafka-wire-log.ts';
import { findSequenceFaults } from '../../support/kafka/kafka-wire-sequence.ts';
import { proxiedBrokersOrSkip } from '../../support/kafka/proxied-brokers.ts';
import { loadRawKafkajs } from '../../support/kafka/raw-kafkajs.ts';
import { readValues, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import type { FaultRule } from '../../support/network/tcp-proxy-faults.ts';
import { createSeededRandom } from '../../support/network/tcp-proxy-random.ts';
import { eventually, outcomeOf } from '../../support/runner/eventually.ts';

/** `HAZARD_PAGES=150 HAZARD_SEED=7` runs longer, and other faults. */
const PAGES = Number(process.env.HAZARD_PAGES ?? 12);
const SEED = Number(process.env.HAZARD_SEED ?? 20_260);
const RECORDS_PER_PAGE = 3;
const NODES = 3;
const PARTITIONS = [0, 1, 2, 3, 4, 5] as const;
/** After so many pages a partition goes to another broker. */
const PAGES_PER_MOVE = 2;
const NONE_WRONG = { missing: 0, twice: 0, outOfOrder: 0, unexpected: 0 };
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

/** Page n: its records, numbered through per partition, and last the position n. */
function pageRecords(page: number): WriterTransaction {
  const first = (page - 1) * RECORDS_PER_PAGE + 1;
  const numbers = Array.from({ length: RECORDS_PER_PAGE }, (_, index) => String(first + index));
  return {
    records: PARTITIONS.flatMap((partition) => numbers.map((number) => textRecord(TOPIC, number, partition))),
    sourceOffset: textRecord(OFFSETS, String(page)),
  };
}

/** What an operator does meanwhile: partitions get other leaders, without which no broker would refuse a batch. */
interface Operator {
  /** Gives one partition to the next broker; the move is under way when it resolves. */
  move(partition: number): Promise<void>;
  leaderOf(topic: string, partition: number): Promise<number>;
}

async function operatorAt(t: TestContext, brokers: readonly string[]): Promise<Operator> {
  const { Kafka, logLevel } = loadRawKafkajs();
  const retry = { retries: 8, initialRetryTime: 50, maxRetryTime: 1_000 };
  const admin: Admin = new Kafka({
    brokers: [...brokers],
    clientId: 'operator',
    logLevel: logLevel.NOTHING,
    retry,
  }).admin();
  await admin.connect();
  t.after(() => admin.disconnect());
  const leaderOf = async (topic: string, partition: number) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)?.leader ?? -1;
  };
  const assignment = PARTITIONS.map((partition) => ({ partition, replicas: [(partition % NODES) + 1] }));
  await admin.createTopics({
    waitForLeaders: false,
    topics: [
      { topic: TOPIC, replicaAssignment: assignment },
      { topic: OFFSETS, replicaAssignment: [{ partition: 0, replicas: [1] }] },
    ],
  });
  await eventually(
    'every partition has its leader',
    () => outcomeOf(Promise.all(PARTITIONS.map((partition) => leaderOf(TOPIC, partition)))),
    (outcome) => 'value' in outcome && outcome.value.every((leader) => leader > 0),
  );
  return {
    leaderOf,
    async move(partition) {
      // A move before it may still be under way, and then there is enough going on.
      const { value: leader } = { value: 0, ...(await outcomeOf(leaderOf(TOPIC, partition))) };
      if (leader < 1) return;
      const moved = [{ partition, replicas: [(leader % NODES) + 1] }];
      await outcomeOf(admin.alterPartitionReassignments({ topics: [{ topic: TOPIC, partitionAssignment: moved }] }));
    },
  };
}

/** Writes all pages, opening again and going on at the committed position after every failure. */
async function writePages(t: TestContext, ours: KafkaCluster, operator: Operator): Promise<number[]> {
  const writer = ours.transactionalWriter('pages');
  const recoveriesMs: number[] = [];
  const open = () => writer.open(async () => Number((await readValues(ours, OFFSETS)).at(-1) ?? 0), t.signal);
  let committed = await open();
  while (committed < PAGES) {
    if (committed % PAGES_PER_MOVE === 0) await operator.move((committed / PAGES_PER_MOVE) % PARTITIONS.length);
    const outcome = await outcomeOf(writer.commit(pageRecords(committed + 1)));
    if ('value' in outcome) {
      committed += 1;
      continue;
    }
    const begin = performance.now();
    committed = await open();
    recoveriesMs.push(performance.now() - begin);
    assert.ok(recoveriesMs.length < PAGES * 10, 'nothing gets through');
  }
  await writer.close();
  return recoveriesMs;
}

test('several partitions at once, on three brokers whose answers are lost and partitions moved: every record comes once', async (t) => {
  const started = await proxiedBrokersOrSkip(t, NODES);
  if (!started) return;
  const { kafka, proxies } = started;
  const operator = await operatorAt(t, kafka.brokers);
  const random = createSeededRandom(SEED);
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const tuning = {
    ...{
      requestTimeoutMs: 600,
      initialRetryMs: 20,
      retries: 3,
      maxRetryMs: 100,
      readStallMs: 5_000,
      disconnectMs: 500,
    },
    openBackOff: { initialMs: 20, maximumMs: 200 },
  };
  const brokers = proxies.map(({ address }) => address);
  const ours = connectKafka({ brokers, clientId: 'ours', clock: systemClock, random, log: silent, tuning });
  t.after(() => ours.close());

  const rules = proxies.flatMap((proxy) => FAULTS.map((rule) => proxy.addRule({ times: ALWAYS, ...rule, random })));
  const recoveriesMs = (await writePages(t, ours, operator)).toSorted((a, b) => a - b);
  for (const proxy of proxies) proxy.clearRules();

  const hits = rules.reduce((sum, rule) => sum + rule.hits(), 0);
  const middle = Math.round(recoveriesMs[Math.floor(recoveriesMs.length / 2)] ?? 0);
  const longest = Math.round(recoveriesMs.at(-1) ?? 0);
  t.diagnostic(
    `seed ${SEED}: ${PAGES} pages, ${hits} faults, ${recoveriesMs.length} recoveries (p50 ${middle} ms, max ${longest} ms)`,
  );
  for (const partition of PARTITIONS) {
    const view = await eventually(
      'nothing is open',
      async () => {
        const leader = await operator.leaderOf(TOPIC, partition);
        return viewPartition({ broker: kafka.brokers[leader - 1] ?? '', topic: TOPIC, partition });
      },
      ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark,
    );
    const numbers = view.committed.map(({ value }) => Number(value));
    assert.deepEqual(findSequenceFaults(numbers, PAGES * RECORDS_PER_PAGE), NONE_WRONG, `partition ${partition}`);
    assert.deepEqual((await readValues(ours, TOPIC, partition)).map(Number), numbers, 'as our reader sees it');
  }
  assert.deepEqual(findSequenceFaults((await readValues(ours, OFFSETS)).map(Number), PAGES), NONE_WRONG, 'positions');
  assert.ok(recoveriesMs.length >= PAGES / 10, `only ${recoveriesMs.length} recoveries: this showed nothing`);
});
