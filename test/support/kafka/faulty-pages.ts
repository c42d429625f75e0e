import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { readValues, textRecord } from '../network/tcp-proxy-cluster.ts';
import type { RuleHandle } from '../network/tcp-proxy-faults.ts';
import { eventually, outcomeOf } from '../runner/eventually.ts';
import type { PartitionView } from './kafka-wire-log.ts';

/** `HAZARD_PAGES=150 HAZARD_SEED=7` runs longer, and other faults. */
export const SEED = Number(process.env.HAZARD_SEED ?? 20_260);
export const NONE_WRONG = { missing: 0, twice: 0, outOfOrder: 0, unexpected: 0 };

/** Partitions of records and one of positions, written by pages as a source does. */
export interface FaultyPages {
  readonly ours: KafkaCluster;
  readonly topic: string;
  readonly offsets: string;
  readonly partitions: readonly number[];
  readonly pages: number;
  readonly recordsPerPage: number;
  readonly view: (topic: string, partition: number) => Promise<PartitionView>;
  readonly abortsHanging?: boolean;
  readonly beforePage?: (page: number) => void | Promise<void>;
}

/**
 * Writes all pages, opening again and going on at the committed position after every failure. Page n holds records that
 * are numbered through per partition, and last the position n. Once the faults are over, every record must stand there once.
 *
 * @param clear ends the faults.
 */
export async function writePagesThroughFaults(
  t: TestContext,
  of: FaultyPages,
  rules: readonly RuleHandle[] = [],
  clear = () => {},
): Promise<void> {
  const { ours, topic, offsets, partitions, recordsPerPage } = of;
  const pages = Number(process.env.HAZARD_PAGES ?? of.pages);
  const hanging = [{ topic: offsets, partition: 0 }, ...partitions.map((partition) => ({ topic, partition }))];
  const writer = ours.transactionalWriter(`${topic}-pages`, of.abortsHanging ? { abortHanging: () => hanging } : {});
  const recoveriesMs: number[] = [];
  const open = () => writer.open(async () => Number((await readValues(ours, offsets)).at(-1) ?? 0), t.signal);
  for (let committed = await open(); committed < pages; ) {
    await of.beforePage?.(committed);
    const first = committed * recordsPerPage + 1;
    const numbers = Array.from({ length: recordsPerPage }, (_, index) => String(first + index));
    const records = partitions.flatMap((partition) => numbers.map((number) => textRecord(topic, number, partition)));
    const outcome = await outcomeOf(
      writer.commit({ records, sourceOffset: textRecord(offsets, String(committed + 1)) }),
    );
    const failedMs = performance.now();
    committed = 'value' in outcome ? committed + 1 : await open();
    if ('error' in outcome) recoveriesMs.push(performance.now() - failedMs);
    assert.ok(recoveriesMs.length < pages * 10, 'nothing gets through');
  }
  await writer.close();
  clear();
  recoveriesMs.sort((a, b) => a - b);
  const hits = rules.reduce((sum, rule) => sum + rule.hits(), 0);
  const [middle, longest] = [recoveriesMs[recoveriesMs.length >> 1], recoveriesMs.at(-1)].map((ms = 0) =>
    Math.round(ms),
  );
  t.diagnostic(
    `seed ${SEED}: ${pages} pages, ${hits} faults, ${recoveriesMs.length} recoveries (p50 ${middle} ms, max ${longest} ms)`,
  );
  const check = async (name: string, partition: number, expected: number) => {
    const { committed } = await eventually(
      'nothing is open',
      () => of.view(name, partition),
      ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark,
    );
    const values = committed.map(({ value }) => value);
    assert.deepEqual(findSequenceFaults(values.map(Number), expected), NONE_WRONG, `${name}/${partition}`);
    assert.deepEqual(await readValues(ours, name, partition), values, 'as our reader sees it');
  };
  for (const partition of partitions) await check(topic, partition, pages * recordsPerPage);
  await check(offsets, 0, pages);
  assert.ok(recoveriesMs.length >= pages / 10, `only ${recoveriesMs.length} recoveries: this showed nothing`);
}

/** What is wrong with a partition in which every number from 1 to `expected` must stand once, and in order. */
export function findSequenceFaults(found: readonly number[], expected: number) {
  const seen = new Set(found);
  const wanted = Array.from({ length: expected }, (_, index) => index + 1);
  return {
    missing: wanted.filter((number) => !seen.has(number)).length,
    twice: found.length - seen.size,
    outOfOrder: found.filter((number, index) => number < (found[index - 1] ?? 0)).length,
    // Nobody should have written these.
    unexpected: [...seen].filter((number) => number < 1 || number > expected).length,
  };
}
