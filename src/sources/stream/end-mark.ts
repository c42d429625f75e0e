import { hasReached } from './stream-response.ts';

/*
 * The end of a stream whose responses do not name the end of the log, while events never pause. The list gives a fresh
 * start of the stream; a cursor that reaches it has read all events from before the request. A fresh start that our
 * cursor had passed a minute before shows that the list lags: it is dropped, and so are earlier findings.
 */

/** The list is asked after a run of this length, and at this interval. */
const LOOK_EVERY_MS = 60_000;
/** A seen end counts until the next one was requested and reached. */
const SEEN_COUNTS_MS = 2 * LOOK_EVERY_MS;

/** The end of a stream whose responses show none. Times are monotonic. */
export interface EndMark {
  /** When the run began, or the newest fresh start was asked for. */
  readonly sinceMs: number;
  readonly passed: string;
  /** A fresh start that the cursor has not reached yet. */
  readonly start: string | null;
  /** When the newest fresh start was asked for that the cursor has reached. */
  readonly reachedMs: number | null;
}

export function wantsMark(mark: EndMark | null, nowMs: number): boolean {
  return mark !== null && mark.start === null && nowMs - mark.sinceMs >= LOOK_EVERY_MS;
}

/** The mark after a fresh start; `ours`: our cursor. */
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
