import type { Census } from './census.ts';
import type { FetchedPage, RowFacts, WalkFlaw } from './instruments-messages.ts';
import { type MutableWalkCounts, NO_COUNTS, type WalkCounts } from './instruments-offset.ts';

export interface SortedRows {
  /** The positions of the rows to write, in order. */
  readonly write: readonly number[];
  readonly counts: WalkCounts;
  readonly flaws: readonly WalkFlaw[];
  readonly contradicted: readonly bigint[];
  readonly lastId: bigint | null;
}

/**
 * Decides which rows of a page are written. A row of a touched instrument is skipped: the topic is newer than the row.
 * Of several rows with one id, only the last row counts. If `minId` is inclusive, a page begins with the last row of
 * the previous page (`earlierLastId`). This row does not become a second dead letter. A row that contradicts a recent
 * event is skipped, because the row may be old. If `isOldFor` is true, a row that differs from the topic is skipped.
 */
export function sortRows(
  page: Pick<FetchedPage, 'minId' | 'rows'> & { readonly isOldFor?: (id: bigint) => boolean },
  touched: ReadonlySet<bigint>,
  census: Census,
  earlierLastId: bigint | null,
): SortedRows {
  const counts: MutableWalkCounts = { ...NO_COUNTS, pages: 1, rows: page.rows.length };
  const flaws = new Set<WalkFlaw>();
  const cursor = page.minId === null ? null : BigInt(page.minId);
  const write: number[] = [];
  const contradicted: bigint[] = [];
  let lastId: bigint | null = null;
  const newest = new Map<bigint, number>();
  for (const [position, { id }] of page.rows.entries()) if (id !== null) newest.set(id, position);

  for (const [position, row] of page.rows.entries()) {
    if (row.id === null) {
      flaws.add('unreadableId');
      counts.deadLetters += 1;
      write.push(position);
      continue;
    }
    if (lastId === null || row.id > lastId) lastId = row.id;
    if (cursor !== null && row.id < cursor) {
      flaws.add('rowBelowCursor');
      counts.belowCursor += 1;
    }
    if (newest.get(row.id) !== position) {
      counts.repeated += 1;
      continue;
    }
    const sorted = sortRow(row.id, row.digest, { touched, census, isOld: page.isOldFor?.(row.id) ?? false });
    const outcome = sorted === 'deadLetters' && row.id === earlierLastId ? 'repeated' : sorted;
    counts[outcome] += 1;
    if (WRITTEN.has(outcome)) write.push(position);
    // An event type in `deleteOnEventTypes` may delete an instrument that the list keeps. Such a row proves no lag.
    if (outcome === 'contradicting' && census.compare(row.id, 0n) !== 'absent') contradicted.push(row.id);
  }
  return { write, counts, flaws: [...flaws], contradicted, lastId };
}

function sortRow(
  id: bigint,
  digest: bigint | null,
  at: { readonly touched: ReadonlySet<bigint>; readonly census: Census; readonly isOld: boolean },
) {
  const { touched, census, isOld } = at;
  if (touched.has(id)) return 'touched';
  if (digest === null) return 'deadLetters';
  const outcome = OUTCOMES[census.compare(id, digest)];
  if (outcome === 'added') return census.reportedAgeMs(id) === null ? outcome : 'contradicting';
  // The provider's replicas lag differently, so the second of two rows with the same id may be older.
  if (outcome === 'corrected' && census.isSeen(id)) return 'repeated';
  if (outcome === 'corrected') return census.reportedAgeMs(id) === null && !isOld ? outcome : 'contradicting';
  return outcome;
}

const WRITTEN: ReadonlySet<string> = new Set(['added', 'corrected', 'reEncoded', 'deadLetters']);

const OUTCOMES = {
  absent: 'added',
  different: 'corrected',
  same: 'unchanged',
  sameUnderOtherSchema: 'reEncoded',
} as const;

/** Puts the written rows into the census, and marks the ids of all rows as seen. */
export function recordRows(rows: readonly RowFacts[], sorted: SortedRows, census: Census): void {
  for (const position of sorted.write) {
    const { id, digest } = rows[position] ?? { id: null, digest: null };
    if (id !== null && digest !== null) census.put(id, digest, true);
  }
  for (const { id } of rows) if (id !== null) census.see(id);
}

export function addCounts(a: WalkCounts, b: WalkCounts): WalkCounts {
  const sum: MutableWalkCounts = { ...a };
  for (const name of Object.keys(b) as (keyof WalkCounts)[]) sum[name] += b[name];
  return sum;
}
