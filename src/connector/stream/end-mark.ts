import { hasReached } from './stream-response.ts';

/*
 * Where a provider's responses do not name the end of the log, and events never pause, no response shows that a source has
 * caught up. Then the list is asked now and then for a fresh start of the stream: a cursor that has reached it has read
 * all that had happened when it was asked for.
 */

/** A run of responses without an end lasts so long before the list is asked, and so long again after each time. */
const LOOK_EVERY_MS = 60_000;
/** What was seen counts for so long: until the list was asked again, and the stream was read up to there. */
const SEEN_COUNTS_MS = 2 * LOOK_EVERY_MS;

/** What is known of the end of a stream that has shown none since it began to be read on. Times are monotonic. */
export interface EndMark {
  /** When the run began, or the newest fresh start came. */
  readonly sinceMs: number;
  /** A fresh start that the cursor has not reached yet. */
  readonly start: string | null;
  /** When the newest fresh start came that the cursor has reached. */
  readonly reachedMs: number | null;
}

function beginMark(nowMs: number): EndMark {
  return { sinceMs: nowMs, start: null, reachedMs: null };
}

/** Whether a fresh start of the stream is wanted. */
export function wantsMark(mark: EndMark | null, nowMs: number): boolean {
  return mark !== null && mark.start === null && nowMs - mark.sinceMs >= LOOK_EVERY_MS;
}

/** The mark after a fresh start came, whatever it was asked for. */
export function markAt(mark: EndMark | null, start: string, nowMs: number): EndMark | null {
  return mark !== null && wantsMark(mark, nowMs) ? { ...mark, sinceMs: nowMs, start } : mark;
}

/** The mark after an answer that moved the cursor to `next`. */
export function markFurther(before: EndMark | null, next: string, nowMs: number): EndMark {
  const mark = before ?? beginMark(nowMs);
  if (!hasReached({ next, nextId: null }, mark.start)) return mark;
  return { ...mark, start: null, reachedMs: mark.sinceMs };
}

export function isEndSeen(mark: EndMark | null, nowMs: number): boolean {
  return mark !== null && mark.reachedMs !== null && nowMs - mark.reachedMs <= SEEN_COUNTS_MS;
}
