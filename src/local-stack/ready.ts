import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';

const PROBE_INTERVAL_MS = 100;

export interface ReadyOptions {
  /** What is awaited, for progress and errors: "Kafka 4.3.1". */
  readonly name: string;
  /** Whether it answers as it should. Never rejects, and has a time limit of its own. */
  readonly probe: () => Promise<boolean>;
  /** Why it can no longer become ready; undefined while it can. */
  readonly ended: () => string | undefined;
  readonly limitMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
}

/**
 * Waits until something that was started answers.
 *
 * @throws ConnectorError STACK_UNAVAILABLE when it ends or the limit passes; the signal's reason when that aborts.
 */
export async function untilReady(options: ReadyOptions): Promise<void> {
  const { name, clock, limitMs, signal } = options;
  const startedMs = clock.monotonicMs();
  const elapsedMs = () => clock.monotonicMs() - startedMs;
  while (!(await options.probe())) {
    signal.throwIfAborted();
    const ended = options.ended();
    if (ended !== undefined) throw new ConnectorError('STACK_UNAVAILABLE', `${name} did not start: ${ended}`);
    if (elapsedMs() > limitMs) {
      throw new ConnectorError('STACK_UNAVAILABLE', `${name} was not ready after ${Math.round(limitMs / 1000)} s`);
    }
    await clock.sleep(PROBE_INTERVAL_MS, signal);
  }
  options.onProgress(`${name} is ready after ${(elapsedMs() / 1000).toFixed(1)} s.`);
}
