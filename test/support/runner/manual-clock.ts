import type { Clock } from '../../../src/support/clock.ts';

/** A clock whose sleeps end at once and move it on; what was slept is kept. */
export function skippingClock(): Clock & { readonly sleepsMs: number[] } {
  let nowMs = 1_000_000;
  const sleepsMs: number[] = [];
  return {
    sleepsMs,
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      sleepsMs.push(ms);
      nowMs += ms;
      // Lets everything else that is ready run first, as a real wait would.
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
  };
}
