import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';

// Timers cannot wait for less: slots this near are used at once, and what came late by less is made up for.
const SHORTEST_SLEEP_MS = 1;

export interface RateLimiter {
  /** Resolves when one more request may be sent; rejects with the signal's reason when it aborts first. */
  take(signal: AbortSignal): Promise<void>;
  /** Another limit, from the next request on; one that has its time already keeps it. */
  setLimit(requestsPerSecond: number): void;
}

/**
 * A token bucket that holds one token: requests are spaced evenly, first come, first served, and time that passed
 * unused is not saved up, so that no second ever sees more than the limit, not even the one after a pause. Nor does a
 * process that stood still: whoever waits behind another has its slot only once that one has gone.
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
        // Whoever gives up takes no slot, and leaves no gap in the queue either.
        void before.then(gone.resolve);
      }
    },
  };
}
