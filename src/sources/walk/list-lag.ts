import { compareStreamOffsets } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type { InstrumentsSettings, SeenLag } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

/*
 * A list that lags the stream by more than the hand-off margin shows rows from before the walk began, and does not show
 * what was issued since. Events within the hour before the walk reveal such a lag. The census knows these events from
 * the topic itself, so that a restart forgets nothing:
 *
 * - A row that contradicts such an event is not used. If a later event names the same instrument, the list was merely
 *   ahead of the stream.
 * - An instrument that such an event named is not deleted. If the topic holds it only since then, and the list lacks
 *   it, the list is older than the event.
 * - A page that names its own place in the stream (links.events) before an event that we had before the walk is older
 *   than that event; if it is older than all that is remembered, it corrects nothing.
 *
 * Each of these proves a lag, the second one only where the list lacks a new instrument. Then the walk deletes nothing.
 * A lag longer than the margin and the hour is noticed only where pages have links.events.
 */

/** Contradicting rows that are remembered; more of them say nothing new. */
const MOST_CONTRADICTIONS = 10_000;
/** The longest that a walk waits for the list because of a lag that was seen. */
const LONGEST_WAIT_MS = 24 * 3_600_000;
const HEADROOM = 2;
/** Stands for a lag that is known only to be longer than the margin. */
const LEAST_LAG_MS = 1_000;

/** Times are monotonic. */
export interface ListLag {
  /** When the census was taken, and when the first page had come. */
  readonly censusMs: number;
  readonly pagesMs: number;
  /** Where the stream began for a source that has no event yet; null for any other. */
  readonly streamStart: string | null;
  /** Rows that were not used, since an event had said otherwise: by how much the list lags, if no later event explains it. */
  readonly contradicted: ReadonlyMap<bigint, number>;
  /** The longest lag that links.events of a page showed; 0 for none. */
  readonly linkedMs: number;
}

/** How old a page is by its own links.events. */
export interface PageAge {
  /** How long before the census the oldest event came that the page does not include; null where it includes all. */
  readonly behindMs: number | null;
  /** The page may be older than an event of this instrument that is no longer remembered. */
  readonly isOldFor: (id: bigint) => boolean;
}

/** `start`: links.events of the page; null where it says nothing that can be compared. */
export function pageAge(start: string | null, lag: Pick<ListLag, 'streamStart'>, { reported }: Census): PageAge {
  const from = (place: string | null) => (place === null || start === null ? null : compareStreamOffsets(start, place));
  const [newest, first] = [from(reported.newest), from(lag.streamStart)];
  // An event lies behind what was asked for: a page from that very place does not have it either.
  const isBehind = newest === null ? first !== null && first < 0 : newest <= 0;
  if (start !== null && isBehind) {
    const isOlderThanMemory = (from(reported.remembered) ?? -1) < 0;
    return {
      behindMs: reported.oldestBehindMs(start),
      isOldFor: (id) => isOlderThanMemory || reported.isAcrossEnd(id),
    };
  }
  // Between the start and the end of the newest response with events, it is unknown which of them the page includes.
  const isWithinNewest = newest !== null && (from(reported.upTo) ?? 0) < 0;
  return { behindMs: null, isOldFor: (id) => isWithinNewest && reported.isOfNewest(id) };
}

/** Adds a page whose rows were sorted. `cameMs`: when it arrived. */
export function noteLag(
  lag: ListLag,
  page: { readonly contradicted: readonly bigint[]; readonly behindMs: number | null; readonly cameMs: number },
  census: Census,
): ListLag {
  const sinceCensusMs = page.cameMs - lag.censusMs;
  const contradicted = new Map(lag.contradicted);
  for (const id of page.contradicted) {
    const ageMs = census.reportedAgeMs(id);
    if (ageMs !== null && contradicted.size < MOST_CONTRADICTIONS) contradicted.set(id, sinceCensusMs + ageMs);
  }
  const { behindMs } = page;
  const linkedMs = behindMs === null ? lag.linkedMs : Math.max(lag.linkedMs, sinceCensusMs + behindMs, LEAST_LAG_MS);
  return { ...lag, contradicted, linkedMs };
}

/**
 * The lag, after the stream was read to its end behind the last page; null for none. `isResumed`: the census of a
 * resumed walk does not know the rows of the pages before the restart, so an instrument that it has not seen proves nothing.
 */
export function judgeLag(
  lag: ListLag,
  at: { readonly census: Census | null; readonly touched: ReadonlySet<bigint>; readonly isResumed: boolean },
): SeenLag | null {
  const { census, touched, isResumed } = at;
  let [lagMs, rows, lacking] = [lag.linkedMs, 0, 0];
  for (const [id, ms] of lag.contradicted) {
    if (touched.has(id)) continue;
    rows += 1;
    lagMs = Math.max(lagMs, ms, LEAST_LAG_MS);
  }
  for (const id of (isResumed ? undefined : census?.unseen()) ?? []) {
    if (touched.has(id) || !census?.isAddedLately(id)) continue;
    lacking += 1;
    lagMs = Math.max(lagMs, lag.pagesMs - lag.censusMs + (census.reportedAgeMs(id) ?? 0), LEAST_LAG_MS);
  }
  return lagMs === 0 ? null : { lagMs, rows, lacking };
}

/** How long a walk waits for the list: as long as is set, or longer where the list was seen to lag by more. */
export function marginMs(
  { handoffMarginMs }: Pick<InstrumentsSettings, 'handoffMarginMs'>,
  { listLagMs }: Pick<InstrumentsOffset, 'listLagMs'>,
): number {
  return Math.max(handoffMarginMs, Math.min(listLagMs * HEADROOM, LONGEST_WAIT_MS));
}

/** The lag that is remembered for the next walk: a walk that saw none halves it, so that one false alarm fades. */
export function rememberedLagMs(before: number, seen: SeenLag | null): number {
  if (seen !== null) return Math.ceil(seen.lagMs);
  return before < 2 * LEAST_LAG_MS ? 0 : Math.floor(before / 2);
}
