import type { StreamAnswer, StreamReading } from './stream-answer.ts';
import { compareStreamOffsets } from './stream-offset.ts';

/**
 * Reading the stream up to where it stood when something ended: a page's last byte, or the beginning of a walk. Only
 * answers count that were asked for after that, which holds since they are given to it after it was made.
 */
export interface Drain {
  /** By the monotonic clock. */
  readonly startedMs: number;
  /** The newest offset that the first answer named; null before it. */
  readonly target: string | null;
  /** How it ended; null while it goes on. `limit`: there was always more, and its time was over. */
  readonly ended: 'reached' | 'limit' | null;
}

export function beginDrain(nowMs: number): Drain {
  return { startedMs: nowMs, target: null, ended: null };
}

/**
 * The drain after one more answer that was taken. It never ends by time alone: while the stream does not answer,
 * nobody knows what lies in it.
 *
 * An empty answer is not the end: filtered events move the cursor without being returned. Nor is a full one that
 * reaches the target: its `nextId` may be the newest of that answer only.
 */
export function drainFurther(
  drain: Drain,
  answer: StreamAnswer,
  reading: StreamReading,
  at: { readonly nowMs: number; readonly limitMs: number },
): Drain {
  if (drain.ended !== null) return drain;
  const target = drain.target ?? answer.nextId ?? answer.next;
  const isReached = !answer.full && (compareStreamOffsets(answer.next, target) ?? -1) >= 0;
  if (reading === 'quiet' || isReached) return { ...drain, target, ended: 'reached' };
  return { ...drain, target, ended: at.nowMs - drain.startedMs >= at.limitMs ? 'limit' : null };
}
