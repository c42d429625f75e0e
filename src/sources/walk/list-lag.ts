import { compareStreamOffsets } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type { InstrumentsSettings, SeenLag } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

/*
 * A list that lags the stream by more than the hand-off margin shows old rows and lacks new instruments. Events of the
 * hour before the walk reveal it; the census knows them from the topic, restarts included:
 *
 * - A row that contradicts such an event is not used, unless a later event explains it: then the list was ahead.
 * - An instrument that such an event named is not deleted. If the topic holds it only since then, the list is older,
 *   unless the list has an instrument that was issued later: then it was dropped again.
 * - A page whose own place in the stream (links.events) lies before such an event is older; if it lies before all that
 *   is remembered, it corrects nothing.
 *
 * After any of these the walk deletes nothing. A longer lag is noticed only where pages have links.events.
 */

const MOST_CONTRADICTIONS = 10_000;
/** The longest wait for a list that lags. */
const LONGEST_WAIT_MS = 24 * 3_600_000;
const HEADROOM = 2;
/** A lag of unknown length beyond the margin. */
const LEAST_LAG_MS = 1_000;

export interface ListLag {
  /** Monotonic, as `pagesMs`, when the first page had come. */
  readonly censusMs: number;
  readonly pagesMs: number;
  /** Where the stream of a new source began; null for any other. */
  readonly streamStart: string | null;
  /** Unused rows with the lag that each shows, unless a later event explains it. */
  readonly contradicted: ReadonlyMap<bigint, number>;
  /** The longest lag by links.events; 0 for none. */
  readonly linkedMs: number;
}

export interface PageAge {
  /** Age of the oldest event that the page lacks; null where it has all. */
  readonly behindMs: number | null;
  /** The page may be older than a forgotten event of this instrument. */
  readonly isOldFor: (id: bigint) => boolean;
}

/** `start`: links.events; null where it has no valid one. */
export function pageAge(start: string | null, lag: Pick<ListLag, 'streamStart'>, { reported }: Census): PageAge {
  const from = (place: string | null) => (place === null || start === null ? null : compareStreamOffsets(start, place));
  const [newest, first] = [from(reported.newest), from(lag.streamStart)];
  // An event lies behind its `since`, so a page from there lacks it too.
  const isBehind = newest === null ? first !== null && first < 0 : newest <= 0;
  if (start !== null && isBehind) {
    const isOlderThanMemory = (from(reported.remembered) ?? -1) < 0;
    return {
      behindMs: reported.oldestBehindMs(start),
      isOldFor: (id) => isOlderThanMemory || reported.isAcrossEnd(id),
    };
  }
  // It is unknown which events of the newest response the page includes.
  const isWithinNewest = newest !== null && (from(reported.upTo) ?? 0) < 0;
  return { behindMs: null, isOldFor: (id) => isWithinNewest && reported.isOfNewest(id) };
}

/** `cameMs`: when the page arrived. */
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

/** The lag, after the final drain; null for none. `isResumed`: the census lacks the rows of earlier pages. */
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
    const ageMs = census?.reportedAgeMs(id) ?? 0;
    if (touched.has(id) || !census?.isAddedLately(id) || ageMs > census.newestShownMs) continue;
    lacking += 1;
    lagMs = Math.max(lagMs, lag.pagesMs - lag.censusMs + ageMs, LEAST_LAG_MS);
  }
  return lagMs === 0 ? null : { lagMs, rows, lacking };
}

/** A walk waits as long as is set, or longer for a list that lagged by more. */
export function marginMs(
  { handoffMarginMs }: Pick<InstrumentsSettings, 'handoffMarginMs'>,
  { listLagMs }: Pick<InstrumentsOffset, 'listLagMs'>,
): number {
  return Math.max(handoffMarginMs, Math.min(listLagMs * HEADROOM, LONGEST_WAIT_MS));
}

/** A walk without a lag halves it, so that one false alarm fades. */
export function rememberedLagMs(before: number, seen: SeenLag | null): number {
  if (seen !== null) return Math.ceil(seen.lagMs);
  return before < 2 * LEAST_LAG_MS ? 0 : Math.floor(before / 2);
}
