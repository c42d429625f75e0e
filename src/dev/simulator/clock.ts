/** The clock of the simulator. Tests advance this clock instead of waiting until events or tokens expire. */
export interface SimulatorClock {
  /** The simulated wall clock, milliseconds since the epoch. Every response, token and event uses it. */
  wallMs(): number;
  /** Real monotonic milliseconds, for rates and delays. `advance` does not change this time. */
  monotonicMs(): number;
  advance(ms: number): void;
  /** Resolves after `ms` real milliseconds, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The real clock plus all advances. `startMs`: the first time of the wall clock; default: the real time. */
export function createSimulatorClock(startMs?: number): SimulatorClock {
  const originMs = performance.now();
  let shiftMs = 0;
  const base = startMs === undefined ? () => Date.now() : () => startMs + (performance.now() - originMs);
  return {
    wallMs: () => Math.floor(base()) + shiftMs,
    monotonicMs: () => performance.now(),
    advance(ms) {
      shiftMs += ms;
    },
    sleep: (ms, signal) => pause(ms, signal),
  };
}

/** A clock that only `advance` moves, so that two simulators return the same bytes. Exported for tests. */
export function createStandingClock(startMs: number): SimulatorClock {
  let nowMs = startMs;
  return {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
    sleep: (ms, signal) => pause(ms, signal),
  };
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
