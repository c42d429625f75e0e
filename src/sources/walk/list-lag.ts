import { compareStreamOffsets } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type { InstrumentsSettings, SeenLag } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

/*
 * The provider's instrument list may lag: it may be older than events that are already on the topic. A walk waits for
 * `handoffMargin`, but the lag may be longer. So the census remembers *recent* events, of the 90 minutes before the walk:
 *
 * - A row that contradicts a recent event is not written, and shows a lag. But if an event touches the instrument during
 *   the walk, or a later event is a dead letter, the row may be newer than the recent event. Then it shows no lag.
 * - An instrument that a recent event names is not deleted. If the list lacks an instrument that a recent event added,
 *   the list shows a lag. But if the list has an instrument that a later event added, the list does not lag.
 * - A page names its offset in the stream (`links.events`). If the topic has an event after this offset, the page is
 *   older than the event, and shows a lag. If all recent events are after this offset, the page corrects nothing.
 *
 * Events from before the source's start or reset are not recent. A reset can lose events, so a row may be newer than the
 * topic. After a reset, the source can also have another filter, so the list can lack instruments of the earlier filter.
 *
 * A walk that has seen a lag deletes nothing. Only `links.events` shows a lag of more than an hour.
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
  // The events of a response come after the offset of its request. So a page with the same offset lacks these events.
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
    if (ageMs === null || census.isOvertaken(id) || contradicted.size >= MOST_CONTRADICTIONS) continue;
    contradicted.set(id, sinceCensusMs + ageMs);
  }
  const { behindMs } = page;
  const linkedMs = behindMs === null ? lag.linkedMs : Math.max(lag.linkedMs, sinceCensusMs + behindMs, LEAST_LAG_MS);
  return { ...lag, contradicted, linkedMs };
}

/** Returns the lag that a whole walk has shown; null: no lag. `isPartial`: rows are unknown, because of a restart or an end that was too early. */
export function judgeLag(
  lag: ListLag,
  at: { readonly census: Census | null; readonly touched: ReadonlySet<bigint>; readonly isPartial: boolean },
): SeenLag | null {
  const { census, touched, isPartial } = at;
  let [lagMs, rows, lacking] = [lag.linkedMs, 0, 0];
  for (const [id, ms] of lag.contradicted) {
    if (touched.has(id)) continue;
    rows += 1;
    lagMs = Math.max(lagMs, ms, LEAST_LAG_MS);
  }
  for (const id of (isPartial ? undefined : census?.unseen()) ?? []) {
    const ageMs = census?.reportedAgeMs(id) ?? 0;
    if (touched.has(id) || !census?.isAddedLately(id) || census.isOvertaken(id)) continue;
    if (ageMs > census.newestShownMs) continue;
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
