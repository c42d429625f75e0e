import { createStandingClock, type SimulatorClock } from '../../../src/dev/simulator/clock.ts';
import type { Clock } from '../../../src/support/clock.ts';

/**
 * The time of a connector and of its simulated provider together. It passes only while the connector sleeps or when the
 * test lets it, and then at once: a month takes seconds.
 */
export interface SharedTime {
  readonly connector: Clock;
  readonly provider: SimulatorClock;
  nowMs(): number;
  /** Does something once this much time has passed from now on. */
  after(ms: number, action: () => void): void;
  /** Lets time pass while no connector runs. */
  pass(ms: number): void;
}

export function createSharedTime(startMs = Date.UTC(2026, 0, 5)): SharedTime {
  const provider = createStandingClock(startMs);
  let plans: { readonly atMs: number; readonly action: () => void }[] = [];
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
  return {
    provider,
    connector: {
      wallMs: provider.wallMs,
      monotonicMs: provider.monotonicMs,
      async sleep(ms, signal) {
        signal?.throwIfAborted();
        pass(ms);
        // Lets everything else that is ready run first, as a real wait would.
        await new Promise((resolve) => setImmediate(resolve));
        signal?.throwIfAborted();
      },
    },
    nowMs: provider.wallMs,
    after(ms, action) {
      plans.push({ atMs: provider.wallMs() + ms, action });
    },
    pass,
  };
}
