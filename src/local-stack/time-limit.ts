import type { Clock } from '../support/clock.ts';

/**
 * The promise's value, if it comes in time.
 *
 * @throws Error naming what was awaited when the limit passes; the signal's reason when it aborts first. The work behind
 * the promise goes on: end it yourself.
 */
export async function withinLimit<T>(
  promise: Promise<T>,
  what: string,
  limitMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<T> {
  const settled = new AbortController();
  const tooLate = clock.sleep(limitMs, AbortSignal.any([signal, settled.signal])).then(() => {
    throw new Error(`${what} took longer than ${limitMs / 1000} s`);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    settled.abort();
    // The loser of the race rejects later, when nobody listens any more.
    tooLate.catch(() => undefined);
    promise.catch(() => undefined);
  }
}
