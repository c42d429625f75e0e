import { compareStreamOffsets } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type { InstrumentsSettings, SeenLag } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

/*
 * A list that lags behind the stream by more than the hand-off margin has old rows and lacks new instruments. Events of
 * the hour before the walk show the lag; the census reads them from the topic, also after a restart:
 *
 * - A row that contradicts such an event is not used. A later event can explain the row: then the list was ahead.
 * - An instrument of such an event is not deleted. If the list lacks an instrument that the event added, the list is
 *   older than the event. But if the list has a later instrument, the missing instrument was removed again.
 * - A page is older if its offset in the stream (links.events) is before such an event. If the offset is before all
 *   remembered events, the page corrects nothing.
 *
 * After any of these, the walk deletes nothing. A longer lag is found only if pages have links.events.
 */

const MOST_CONTRADICTIONS = 10_000;
/** The longest wait for a list that lags. */
const LONGEST_WAIT_MS = 24 * 3_600_000;
const HEADROOM = 2;
/** A lag counts as at least this long. */
const LEAST_LAG_MS = 1_000;

export interface ListLag {
  /** The end of the census. `pagesMs`: the arrival of the first page. Both are monotonic. */
  readonly censusMs: number;
  readonly pagesMs: number;
  /** The first offset of a new source's stream; null for any other source. */
  readonly streamStart: string | null;
  /** By id: the lag that an unused row shows, unless a later event explains the row. */
  readonly contradicted: ReadonlyMap<bigint, number>;
  /** The longest lag that links.events shows; 0: no lag. */
  readonly linkedMs: number;
}

export interface PageAge {
  /** The age of the oldest event that the page lacks; null if the page lacks no event. */
  readonly behindMs: number | null;
  /** True if the page may be older than a forgotten event of this instrument. */
  readonly isOldFor: (id: bigint) => boolean;
}

/** `start`: the offset in links.events; null if there is no valid offset. */
export function pageAge(start: string | null, lag: Pick<ListLag, 'streamStart'>, { reported }: Census): PageAge {
  const from = (place: string | null) => (place === null || start === null ? null : compareStreamOffsets(start, place));
  const [newest, first] = [from(reported.newest), from(lag.streamStart)];
  // An event comes after its `since`, so a page with this offset lacks the event too.
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

/** Returns the lag after the final drain; null: no lag. `isResumed`: the census lacks the rows of earlier pages. */
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

/** A walk waits for `handoffMargin`, or longer if the list has lagged by more. */
export function marginMs(
  { handoffMarginMs }: Pick<InstrumentsSettings, 'handoffMarginMs'>,
  { listLagMs }: Pick<InstrumentsOffset, 'listLagMs'>,
): number {
  return Math.max(handoffMarginMs, Math.min(listLagMs * HEADROOM, LONGEST_WAIT_MS));
}

/** A walk without a lag halves the remembered lag, so that a false alarm disappears. */
export function rememberedLagMs(before: number, seen: SeenLag | null): number {
  if (seen !== null) return Math.ceil(seen.lagMs);
  return before < 2 * LEAST_LAG_MS ? 0 : Math.floor(before / 2);
}
