import { hasReached } from './stream-response.ts';

/*
 * Where a provider's responses do not name the end of the log, and events never pause, no response shows that a source has
 * caught up. Then the list is asked now and then for a fresh start of the stream: a cursor that has reached it has read
 * all that had happened when it was asked for.
 *
 * It counts only where the list does not lag the stream. A fresh start that our cursor had passed a minute before it was
 * asked for shows such a lag: it is dropped, and what earlier ones showed, too. So where a list lags by more than a minute,
 * a source is shown as behind, which is the safe side. Only one whose backlog is about as long as the lag is shown as caught
 * up for some minutes: its cursor reaches a fresh start that it had not passed before, and nothing shows that this is old.
 */

/** A run of responses without an end lasts so long before the list is asked, and so long again after each time. */
const LOOK_EVERY_MS = 60_000;
/** A seen end counts for so long: until the next one was requested and reached. */
const SEEN_COUNTS_MS = 2 * LOOK_EVERY_MS;

/** The end of a stream whose responses show none. Times are monotonic. */
export interface EndMark {
  /** When the run began, or the newest fresh start was asked for. */
  readonly sinceMs: number;
  /** Our cursor then; where the list took long, when it had answered. */
  readonly passed: string;
  /** A fresh start that the cursor has not reached yet. */
  readonly start: string | null;
  /** When the newest fresh start was asked for that the cursor has reached. */
  readonly reachedMs: number | null;
}

export function wantsMark(mark: EndMark | null, nowMs: number): boolean {
  return mark !== null && mark.start === null && nowMs - mark.sinceMs >= LOOK_EVERY_MS;
}

/** The mark after a fresh start came, whatever it was asked for; `ours`: our cursor. */
export function markAt(
  mark: EndMark | null,
  { since: start, ours, askedMs }: { readonly since: string; readonly ours: string; readonly askedMs: number },
): EndMark | null {
  if (mark === null || !wantsMark(mark, askedMs)) return mark;
  const further = { ...mark, sinceMs: askedMs, passed: ours };
  const lags = hasReached({ next: mark.passed, nextId: null }, start);
  return lags ? { ...further, reachedMs: null } : { ...further, start };
}

/** The mark after an answer that moved the cursor to `next`. */
export function markFurther(mark: EndMark | null, next: string, nowMs: number): EndMark {
  if (mark === null) return { sinceMs: nowMs, passed: next, start: null, reachedMs: null };
  if (!hasReached({ next, nextId: null }, mark.start)) return mark;
  return { ...mark, start: null, reachedMs: mark.sinceMs };
}

export function isEndSeen(mark: EndMark | null, nowMs: number): boolean {
  return mark !== null && mark.reachedMs !== null && nowMs - mark.reachedMs <= SEEN_COUNTS_MS;
}
