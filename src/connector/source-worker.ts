import { ConnectorError, type ErrorAction } from '../errors.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { SourceTask, SourceTurn } from './source-task.ts';

/** What a failed poll waits before it is tried again. An action without a row here ends the loop. */
const POLL_BACK_OFF: Readonly<Partial<Record<ErrorAction, BackOff>>> = {
  retry: { initialMs: 500, maximumMs: 60_000 },
  askForLess: { initialMs: 100, maximumMs: 60_000 },
  retrySlowly: { initialMs: 10_000, maximumMs: 300_000 },
};

export interface SourceWorkerOptions {
  readonly source: string;
  readonly task: SourceTask;
  /** Resolves when the records are committed in one transaction. */
  readonly commit: (records: readonly OutgoingRecord[]) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ConnectorEvents;
  readonly signal: AbortSignal;
}

/**
 * The loop of every source: poll, then one transaction with records, dead letters and offset, then at once again or
 * after a wait. Polls are tried again as their errors say; a failed commit is not, since only the committed offset
 * tells what became of it: that error leaves the loop, and the writer's owner opens again.
 *
 * @returns never; it ends by the signal's reason or by an error that no repetition mends.
 */
export async function runSource(options: SourceWorkerOptions): Promise<never> {
  const { clock, signal } = options;
  for (;;) {
    const turn = await pollUntilAnswered(options);
    if (turn.records.length > 0) {
      const startedMs = clock.monotonicMs();
      await options.commit(turn.records);
      turn.committed(clock.monotonicMs() - startedMs);
    }
    if (turn.waitMs > 0) await wait(turn, clock, signal);
    signal.throwIfAborted();
  }
}

async function wait({ waitMs, wake }: SourceTurn, clock: Clock, signal: AbortSignal): Promise<void> {
  const over = wake === undefined ? signal : AbortSignal.any([signal, wake]);
  await clock.sleep(waitMs, over).catch((reason: unknown) => {
    if (!wake?.aborted) throw reason;
  });
}

async function pollUntilAnswered({ source, task, clock, random, events, signal }: SourceWorkerOptions) {
  for (let failures = 1; ; failures++) {
    try {
      return await task.poll(signal);
    } catch (error) {
      signal.throwIfAborted();
      const backOff = error instanceof ConnectorError ? POLL_BACK_OFF[error.action] : undefined;
      if (!(error instanceof ConnectorError) || backOff === undefined) throw error;
      const waitMs = Math.max(error.retryAfterMs ?? 0, backOffMs(failures, backOff, random));
      events.attemptFailed({ source, failures, waitMs, err: error });
      task.failed(error);
      await clock.sleep(waitMs, signal);
    }
  }
}
