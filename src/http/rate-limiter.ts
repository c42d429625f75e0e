import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';

// Timers cannot wait for less: a slot this near is used at once, and a request this late loses no time.
const SHORTEST_SLEEP_MS = 1;

export interface RateLimiter {
  /** Resolves when one more request may be sent; rejects with the signal's reason when it aborts first. */
  take(signal: AbortSignal): Promise<void>;
  /** Another limit, from the next request on; a request that has its slot already keeps it. */
  setLimit(requestsPerSecond: number): void;
}

/**
 * A token bucket that holds one token: requests are spaced evenly, first come, first served, and time that passed
 * unused is not saved up, so that no second ever sees more than the limit, not even the one after a pause. The same
 * holds after the process stood still: a waiting request gets its slot only after the one before it was sent.
 */
export function createRateLimiter(requestsPerSecond: number, clock: Clock): RateLimiter {
  let intervalMs = 1_000 / requestsPerSecond;
  let nextFreeMs = Number.NEGATIVE_INFINITY;
  let last: Promise<void> = Promise.resolve();
  return {
    setLimit(limit) {
      intervalMs = 1_000 / limit;
    },
    async take(signal) {
      signal.throwIfAborted();
      const before = last;
      const gone = Promise.withResolvers<void>();
      last = gone.promise;
      try {
        await untilAborted(before, signal);
        const nowMs = clock.monotonicMs();
        const slotMs = Math.max(nowMs, nextFreeMs);
        if (slotMs - nowMs >= SHORTEST_SLEEP_MS) await clock.sleep(slotMs - nowMs, signal);
        const wokenMs = clock.monotonicMs();
        nextFreeMs = (wokenMs - slotMs < SHORTEST_SLEEP_MS ? slotMs : wokenMs) + intervalMs;
      } finally {
        // A caller that gives up takes no slot, and leaves no gap in the queue.
        void before.then(gone.resolve);
      }
    },
  };
}
