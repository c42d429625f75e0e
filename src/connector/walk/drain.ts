import { hasReached, type StreamReading, type StreamResponse } from '../stream/stream-response.ts';

/**
 * A drain reads the stream up to where it was at a certain moment: at the last byte of a page, or at the start of a
 * walk. Only responses to later requests count. That holds, since a drain is created before those requests; but the first
 * response of a page's drain may be one that was asked for before, by ListPages, once the page had arrived.
 */
export interface Drain {
  /** By the monotonic clock. */
  readonly startedMs: number;
  /** When its first response was taken, from which its limit counts: the stream may have refused for long before it. */
  readonly readFromMs: number | null;
  /** The newest offset that the first response named; null before it, or where it named none. */
  readonly target: string | null;
  /** A fresh start of the stream that the list gave meanwhile; the end where answers do not name that of the log. */
  readonly start: string | null;
  /** How it ended; null while it goes on. `limit`: there was always more, and its time was over. */
  readonly ended: 'reached' | 'limit' | null;
}

/** A response of the stream that was taken, as a drain sees it. */
export interface DrainResponse {
  readonly answer: StreamResponse;
  readonly reading: StreamReading;
  /** Whether this provider's newest offset is known to be that of the log, and not that of a response only. */
  readonly namesEnd: boolean;
}

/** So long the stream is read before the list is asked where it ends: mostly it shows that itself. */
const LEAST_READ_MS = 1_000;

export function beginDrain(nowMs: number): Drain {
  return { startedMs: nowMs, readFromMs: null, target: null, start: null, ended: null };
}

/**
 * The drain after one more answer that was taken. It never ends by time alone: while the stream does not answer,
 * its content is unknown.
 *
 * An empty response is not the end: filtered events move the cursor without being returned. Nor is one with fewer events
 * than were asked for, since servers give fewer as they like. The end is an empty response whose cursor stays, or the
 * newest offset of the log, where the provider names it; elsewhere a fresh start of the stream, which is from after the
 * drain began.
 */
export function drainFurther(
  drain: Drain,
  { answer, reading, namesEnd }: DrainResponse,
  at: { readonly nowMs: number; readonly limitMs: number },
): Drain {
  if (drain.ended !== null) return drain;
  const target = drain.target ?? answer.nextId;
  if (reading === 'quiet' || hasReached(answer, namesEnd ? target : drain.start))
    return { ...drain, target, ended: 'reached' };
  const readFromMs = drain.readFromMs ?? at.nowMs;
  return { ...drain, readFromMs, target, ended: at.nowMs - readFromMs >= at.limitMs ? 'limit' : null };
}

/**
 * Whether a fresh start of the stream is the end of this drain: the list may lag by the margin, and only one that is asked
 * for later is certainly from after the drain began.
 */
export function wantsStart(drain: Drain, { nowMs, marginMs }: { readonly nowMs: number; readonly marginMs: number }) {
  return drain.ended === null && drain.start === null && nowMs - drain.startedMs >= Math.max(marginMs, LEAST_READ_MS);
}
