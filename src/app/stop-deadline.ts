import type { Clock } from '../support/clock.ts';

/** How long a stop may take. An orchestrator kills after 10 s as a rule, and the process itself needs a moment too. */
export const STOP_DEADLINE_MS = 7_000;

/** Aborts when a stop that was asked for takes too long, as with a broker that never answers. */
export function createStopDeadline(signal: AbortSignal, clock: Clock): { signal: AbortSignal; end(): void } {
  const late = new AbortController();
  const ended = new AbortController();
  const start = () => {
    clock.sleep(STOP_DEADLINE_MS, ended.signal).then(
      () => late.abort(new Error(`the stop took longer than ${STOP_DEADLINE_MS} ms`)),
      () => {},
    );
  };
  if (signal.aborted) start();
  else signal.addEventListener('abort', start, { once: true });
  return {
    signal: late.signal,
    end() {
      signal.removeEventListener('abort', start);
      ended.abort();
    },
  };
}
