import type { Clock } from '../support/clock.ts';

// Timers cannot wait for less; slots this near are used at once, and the following ones make up for it.
const SHORTEST_SLEEP_MS = 1;

export interface RateLimiter {
  /** Resolves when one more request may be sent; rejects with the signal's reason when it aborts first. */
  take(signal: AbortSignal): Promise<void>;
}

/**
 * A token bucket that holds one token: requests are spaced evenly, first come, first served, and time that passed
 * unused is not saved up, so that no second ever sees more than the limit, not even the one after a pause.
 * An aborted wait does not give its slot back; that only happens when everything stops.
 */
export function createRateLimiter(requestsPerSecond: number, clock: Clock): RateLimiter {
  const intervalMs = 1_000 / requestsPerSecond;
  let nextFreeMs = Number.NEGATIVE_INFINITY;
  return {
    async take(signal) {
      signal.throwIfAborted();
      const nowMs = clock.monotonicMs();
      const slotMs = Math.max(nowMs, nextFreeMs);
      nextFreeMs = slotMs + intervalMs;
      if (slotMs - nowMs >= SHORTEST_SLEEP_MS) await clock.sleep(slotMs - nowMs, signal);
    },
  };
}
