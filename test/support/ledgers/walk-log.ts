import type { InstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';

/** A row of the instruments topic, as a read_committed reader saw it. */
export interface WalkedRow {
  readonly id: bigint;
  readonly partition: number;
  readonly offset: bigint;
}

/** All that a first walk left on Kafka, at a moment when nothing writes. */
export interface WalkLog {
  /** In the order of each partition. */
  readonly rows: readonly WalkedRow[];
  /** Every committed offset of the source, in the order of their partition. */
  readonly offsets: readonly InstrumentsOffset[];
}

/**
 * What is wrong with the log of one walk over an unchanging list; empty when it is right. Rows and committed cursor are
 * compared in both directions: a cursor that ran ahead of its rows, and rows that ran ahead of their cursor, both show.
 */
export function walkViolations(log: WalkLog, ledgerIds: readonly bigint[]): string[] {
  const found: string[] = [];
  const last = log.offsets.at(-1);
  const isDue = (id: bigint) => {
    if (last === undefined) return false;
    if (last.walk > 1 || !last.walkPending) return true;
    return last.walkCursor === null ? last.counts.pages > 0 : id < BigInt(last.walkCursor);
  };

  const times = new Map<bigint, number>();
  for (const row of log.rows) times.set(row.id, (times.get(row.id) ?? 0) + 1);
  for (const [id, count] of times) {
    if (count > 1) found.push(`instrument ${id} was written ${count} times`);
    if (!isDue(id))
      found.push(`instrument ${id} is visible, but the committed cursor is ${last?.walkCursor ?? 'absent'}`);
  }
  const known = new Set(ledgerIds);
  for (const id of times.keys()) if (!known.has(id)) found.push(`instrument ${id} was never served`);
  for (const id of ledgerIds) {
    if (isDue(id) && !times.has(id)) found.push(`instrument ${id} is missing below the committed cursor`);
  }

  const newest = new Map<number, WalkedRow>();
  for (const row of log.rows) {
    const before = newest.get(row.partition);
    if (before !== undefined && before.id >= row.id) found.push(`instrument ${row.id} comes after ${before.id}`);
    newest.set(row.partition, row);
  }

  for (const [index, offset] of log.offsets.entries()) {
    const before = log.offsets[index - 1];
    if (before === undefined) continue;
    if (offset.walk !== before.walk) continue;
    const steps = offset.counts.pages - before.counts.pages;
    if (steps !== 0 && steps !== 1) found.push(`page ${offset.counts.pages} follows page ${before.counts.pages}`);
    if (offset.counts.rows < before.counts.rows) found.push(`the count of rows fell to ${offset.counts.rows}`);
  }
  const first = log.offsets.findLast(({ walk }) => walk === 1);
  const written = first?.counts.added ?? 0;
  if (written !== log.rows.length) found.push(`${log.rows.length} rows are visible, the offset counts ${written}`);
  return found;
}
