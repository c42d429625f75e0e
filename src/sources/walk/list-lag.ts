import { compareStreamOffsets } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type { InstrumentsSettings, SeenLag } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

/*
 * The provider's instrument list may lag: it may be older than events that are already on the topic. A walk waits for
 * the hand-off margin, but a lag may be longer. The census reads the events of the hour before the walk:
 *
 * - A row that contradicts such an event is not written, and shows a lag. But if the stream brings another event of the
 *   same instrument during the walk, the row may be newer than the topic. Then the row shows no lag.
 * - An instrument that such an event names is not deleted. If the list lacks an instrument that the event added, the
 *   list is older than the event. But if the list has an instrument that was added later, the missing one was removed.
 * - Events from before the source's start or reset show no lag: the source lost the events of the reset, so a row may be
 *   newer, and the list of another filter may lack an instrument.
 * - A page names its offset in the stream (`links.events`). If this offset is before such an event, the page is older
 *   than the event. If the offset is before all remembered events, the page corrects nothing.
 *
 * After any of these signs, the walk deletes nothing. Only `links.events` shows a lag of more than an hour.
 */

const MOST_CONTRADICTIONS = 10_000;
/** A walk waits at most this long for a list that lags. */
const LONGEST_WAIT_MS = 24 * 3_600_000;
const HEADROOM = 2;
/** A shorter lag counts as this lag. */
const LEAST_LAG_MS = 1_000;

export interface ListLag {
  /** `censusMs`: when the census was complete. `pagesMs`: when the first page arrived. Both are monotonic. */
  readonly censusMs: number;
  readonly pagesMs: number;
  /** The lag in milliseconds that each contradicting row shows, by the id of the row. */
  readonly contradicted: ReadonlyMap<bigint, number>;
  /** The longest lag that `links.events` of the pages shows; 0: no lag. */
  readonly linkedMs: number;
}

export interface PageAge {
  /** The age of the oldest event that the page lacks; null if the page lacks no event. */
  readonly behindMs: number | null;
  /** True if the page may be older than an event of this instrument, although the census remembers no such event. */
  readonly isOldFor: (id: bigint) => boolean;
}

/** Compares a page with the events on the topic. `start`: the page's offset in `links.events`; null if not valid. */
export function pageAge(start: string | null, streamStart: string | null, { reported }: Census): PageAge {
  const from = (place: string | null) => (place === null || start === null ? null : compareStreamOffsets(start, place));
  const [newest, first] = [from(reported.newest), from(streamStart)];
  // An event comes after the requested offset (`since`), so a page with this offset lacks the event too.
  const isBehind = newest === null ? first !== null && first < 0 : newest <= 0;
  if (start !== null && isBehind) {
    const isOlderThanMemory = (from(reported.remembered) ?? -1) < 0;
    return {
      behindMs: reported.oldestBehindMs(start),
      isOldFor: (id) => isOlderThanMemory || reported.isAcrossEnd(id),
    };
  }
  // The page may include only some of the events of the newest response.
  const isWithinNewest = newest !== null && (from(reported.upTo) ?? 0) < 0;
  return { behindMs: null, isOldFor: (id) => isWithinNewest && reported.isOfNewest(id) };
}

/** Adds the lag that a page shows. `cameMs`: when the page arrived, monotonic. */
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

/** Returns the lag that a whole walk has shown; null: no lag. `isResumed`: the rows before a restart are forgotten. */
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

/** Returns how long a walk waits before it reads the list: `handoffMargin`, or longer after a longer lag. */
export function marginMs(
  { handoffMarginMs }: Pick<InstrumentsSettings, 'handoffMarginMs'>,
  { listLagMs }: Pick<InstrumentsOffset, 'listLagMs'>,
): number {
  return Math.max(handoffMarginMs, Math.min(listLagMs * HEADROOM, LONGEST_WAIT_MS));
}

/** Returns the lag to commit. A walk without a lag halves the committed lag, so that a false alarm disappears. */
export function rememberedLagMs(before: number, seen: SeenLag | null): number {
  if (seen !== null) return Math.ceil(seen.lagMs);
  return before < 2 * LEAST_LAG_MS ? 0 : Math.floor(before / 2);
}
