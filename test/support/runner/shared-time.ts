import { createStandingClock } from '../../../src/dev/simulator/clock.ts';
import type { Clock } from '../../../src/support/clock.ts';

/**
 * The time of a connector and of its simulated provider together. It passes only while the connector sleeps or when the
 * test lets it, and then at once: a month takes seconds.
 */
export function createSharedTime() {
  const provider = createStandingClock(Date.UTC(2026, 0, 5));
  let plans: { readonly atMs: number; readonly action: () => void }[] = [];
  /** Lets time pass while no connector runs. */
  const pass = (ms: number) => {
    const untilMs = provider.wallMs() + ms;
    for (;;) {
      const [next] = plans.filter(({ atMs }) => atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      plans = plans.filter((plan) => plan !== next);
      provider.advance(next.atMs - provider.wallMs());
      next.action();
    }
    provider.advance(untilMs - provider.wallMs());
  };
  const connector: Clock = {
    wallMs: provider.wallMs,
    monotonicMs: provider.monotonicMs,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      pass(ms);
      // Lets everything else that is ready run first, as a real wait would.
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
  };
  return {
    provider,
    connector,
    nowMs: provider.wallMs,
    /** Does something once this much time has passed from now on. */
    after(ms: number, action: () => void) {
      plans.push({ atMs: provider.wallMs() + ms, action });
    },
    pass,
  };
}
