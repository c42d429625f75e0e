import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { TransactionalWriter, WriterTransaction } from '../../../src/kafka/transactional-writer.ts';
import { findSequenceFaults } from '../../support/kafka/kafka-wire-sequence.ts';
import { type RawCluster, testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { openOurCluster, readValues, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import type { FaultRule } from '../../support/network/tcp-proxy-faults.ts';
import { createSeededRandom } from '../../support/network/tcp-proxy-random.ts';
import { eventually, outcomeOf } from '../../support/runner/eventually.ts';

/** `HAZARD_PAGES=150 HAZARD_SEED=7` runs longer, and other faults. */
const PAGES = Number(process.env.HAZARD_PAGES ?? 30);
const SEED = Number(process.env.HAZARD_SEED ?? 20_260);
const RECORDS_PER_PAGE = 4;
const PARTITIONS = [0, 1] as const;
const NONE_WRONG = { missing: 0, twice: 0, outOfOrder: 0, unexpected: 0 };

const ALWAYS = Number.POSITIVE_INFINITY;
const FAULTS: readonly FaultRule[] = [
  { on: 'Produce', fault: 'cutRequest', chance: 0.03 },
  { on: 'Produce', fault: 'cutAnswer', chance: 0.05 },
  { on: 'Produce', fault: 'cutAnswer', chance: 0.03, burst: 4 },
  { on: 'Produce', fault: 'dropRequest', chance: 0.02 },
  { on: 'Produce', fault: 'dropAnswer', chance: 0.03 },
  { on: 'Produce', fault: 'blackHole', chance: 0.02 },
  { on: 'Produce', fault: 'delayAnswer', delayMs: 100, chance: 0.05 },
  { on: 'EndTxn', fault: 'cutRequest', chance: 0.05 },
  { on: 'EndTxn', fault: 'cutAnswer', chance: 0.08 },
  { on: 'EndTxn', fault: 'dropRequest', chance: 0.03 },
  { on: 'EndTxn', fault: 'dropAnswer', chance: 0.05 },
  { on: 'EndTxn', fault: 'blackHole', chance: 0.03 },
  { on: 'AddPartitionsToTxn', fault: 'cutAnswer', chance: 0.04 },
  { on: 'AddPartitionsToTxn', fault: 'dropAnswer', chance: 0.02 },
  { on: 'InitProducerId', fault: 'cutAnswer', chance: 0.1 },
  { on: 'InitProducerId', fault: 'dropRequest', chance: 0.05 },
  { on: ['FindCoordinator', 'Metadata'], fault: 'cutRequest', chance: 0.02 },
  { on: 'Fetch', fault: 'cutAnswer', chance: 0.03 },
];

/** Two partitions of records and one of positions, written by pages as a source does. */
interface Pages {
  readonly raw: RawCluster;
  readonly topic: string;
  readonly offsets: string;
}

/** Page n: its records, numbered through per partition, and last the position n. */
function pageRecords({ topic, offsets }: Pages, page: number): WriterTransaction {
  const first = (page - 1) * RECORDS_PER_PAGE + 1;
  const numbers = Array.from({ length: RECORDS_PER_PAGE }, (_, index) => String(first + index));
  return {
    records: PARTITIONS.flatMap((partition) => numbers.map((number) => textRecord(topic, number, partition))),
    sourceOffset: textRecord(offsets, String(page)),
  };
}

/** Writes all pages, opening again and going on at the committed position after every failure. */
async function writePages(t: TestContext, ours: KafkaCluster, pages: Pages): Promise<number[]> {
  const writer: TransactionalWriter = ours.transactionalWriter(uniqueName('pages'));
  const recoveriesMs: number[] = [];
  const open = () => writer.open(async () => Number((await readValues(ours, pages.offsets)).at(-1) ?? 0), t.signal);
  let committed = await open();
  while (committed < PAGES) {
    const outcome = await outcomeOf(writer.commit(pageRecords(pages, committed + 1)));
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

/** The numbers of one partition, by the tests' own reading of the log. */
async function committedNumbers(raw: RawCluster, topic: string, partition: number): Promise<number[]> {
  const view = await eventually(
    'nothing is open',
    () => raw.view(topic, partition),
    ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark,
  );
  return view.committed.map((record) => Number(record.value));
}

testOnBroker(
  'through a network that drops, cuts and black-holes, every record comes once and in order',
  async (t, raw) => {
    const pages = { raw, topic: await raw.createTopic({ partitions: 2 }), offsets: await raw.createTopic() };
    const random = createSeededRandom(SEED);
    // Fewer retries than a burst is long.
    const tuning = { requestTimeoutMs: 400, retries: 2, maxRetryMs: 100, readStallMs: 3_000 };
    const ours = openOurCluster(t, { ...raw, tuning, random });
    const rules = FAULTS.map((rule) => raw.proxy.addRule({ times: ALWAYS, ...rule, random }));
    const recoveriesMs = (await writePages(t, ours, pages)).toSorted((a, b) => a - b);
    raw.proxy.clearRules();

    const hits = rules.reduce((sum, rule) => sum + rule.hits(), 0);
    const middle = Math.round(recoveriesMs[Math.floor(recoveriesMs.length / 2)] ?? 0);
    const longest = Math.round(recoveriesMs.at(-1) ?? 0);
    t.diagnostic(
      `seed ${SEED}: ${PAGES} pages, ${hits} faults, ${recoveriesMs.length} recoveries (p50 ${middle} ms, max ${longest} ms)`,
    );
    const written = new Set(raw.proxy.trace.filter(({ api }) => api === 'Produce').map(({ broker }) => broker));
    assert.ok(written.size >= Math.min(PARTITIONS.length, raw.brokers.length), 'several brokers lead the partitions');
    for (const partition of PARTITIONS) {
      const numbers = await committedNumbers(raw, pages.topic, partition);
      assert.deepEqual(findSequenceFaults(numbers, PAGES * RECORDS_PER_PAGE), NONE_WRONG, `partition ${partition}`);
      assert.deepEqual((await readValues(ours, pages.topic, partition)).map(Number), numbers, 'as our reader sees it');
    }
    assert.deepEqual(findSequenceFaults(await committedNumbers(raw, pages.offsets, 0), PAGES), NONE_WRONG, 'positions');
    assert.ok(recoveriesMs.length >= PAGES / 10, `only ${recoveriesMs.length} recoveries: this showed nothing`);
  },
);

test('the check of the sequence sees a record missing, doubled, swapped or made up', () => {
  assert.deepEqual(findSequenceFaults([1, 2, 3, 4], 4), NONE_WRONG);
  assert.deepEqual(findSequenceFaults([1, 3, 4], 4), { ...NONE_WRONG, missing: 1 });
  assert.deepEqual(findSequenceFaults([1, 2, 2, 3, 4], 4), { ...NONE_WRONG, twice: 1 });
  assert.deepEqual(findSequenceFaults([1, 3, 2, 4], 4), { ...NONE_WRONG, outOfOrder: 1 });
  assert.deepEqual(findSequenceFaults([1, 2, 3, 4, 5], 4), { ...NONE_WRONG, unexpected: 1 });
});
