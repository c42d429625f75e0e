/** The simulator's own time: it can run ahead of the real one, so that retention and expiry are tested in moments. */
export interface SimulatorClock {
  /** The simulated wall clock, milliseconds since the epoch; what every response, token and event goes by. */
  wallMs(): number;
  /** Real monotonic milliseconds; what rates and delays go by, so that a leap causes no storm of changes. */
  monotonicMs(): number;
  advance(ms: number): void;
  /** Resolves after `ms` real milliseconds, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The real clock plus whatever it was advanced by. `startMs` pins the wall clock's first reading. */
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

/** A clock that does not move until it is advanced: two simulators on it give the same bytes. Exported for tests. */
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
