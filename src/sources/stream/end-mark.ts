import { hasReached } from './stream-response.ts';

/*
 * Finds the end of a stream that always has more events and does not name the end of its log. The list gives a fresh
 * start: the offset at which a new source begins. When our offset reaches this start, all events from before the request
 * for the list are read. If our offset had already reached this start a minute before that request, the list lags. Then
 * the start is not used, and an end that was reached earlier no longer counts.
 */

/** If no response shows the stream's end for this time, the list is requested; then again at this interval. */
const LOOK_EVERY_MS = 60_000;
/** If our offset reached a fresh start, the stream counts as read to its end until this long after the start was requested. */
const SEEN_COUNTS_MS = 2 * LOOK_EVERY_MS;

/** The state of the search for the end of a stream. Times are monotonic. */
export interface EndMark {
  /** When the search began, or when the newest fresh start was requested. */
  readonly sinceMs: number;
  /** Our offset at `sinceMs`. */
  readonly passed: string;
  /** The fresh start that our offset has not reached yet; null if there is no such start. */
  readonly start: string | null;
  /** When the newest reached fresh start was requested; null if no start was reached. */
  readonly reachedMs: number | null;
}

export function wantsMark(mark: EndMark | null, nowMs: number): boolean {
  return mark !== null && mark.start === null && nowMs - mark.sinceMs >= LOOK_EVERY_MS;
}

/** Takes a fresh start. `since`: the fresh start; `ours`: our offset. */
export function markAt(
  mark: EndMark | null,
  { since: start, ours, askedMs }: { readonly since: string; readonly ours: string; readonly askedMs: number },
): EndMark | null {
  if (mark === null || !wantsMark(mark, askedMs)) return mark;
  const further = { ...mark, sinceMs: askedMs, passed: ours };
  const lags = hasReached({ next: mark.passed, nextId: null }, start);
  return lags ? { ...further, reachedMs: null } : { ...further, start };
}

export function markFurther(mark: EndMark | null, next: string, nowMs: number): EndMark {
  if (mark === null) return { sinceMs: nowMs, passed: next, start: null, reachedMs: null };
  if (!hasReached({ next, nextId: null }, mark.start)) return mark;
  return { ...mark, start: null, reachedMs: mark.sinceMs };
}

export function isEndSeen(mark: EndMark | null, nowMs: number): boolean {
  return mark !== null && mark.reachedMs !== null && nowMs - mark.reachedMs <= SEEN_COUNTS_MS;
}
