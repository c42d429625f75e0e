import { ConnectorError, type ErrorAction } from '../errors.ts';
import type { SourceOffset } from '../kafka/offset-store.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { Events } from '../observe/events.ts';
import { type BackOff, backOffMs, type Random, SLOW_BACK_OFF } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { untilTarget, type WorkerTarget } from '../worker/target.ts';

/** The result of a poll. */
export interface SourceTurn {
  /** The records, dead letters and notifications of one transaction. */
  readonly records: readonly OutgoingRecord[];
  /** The offset of the transaction; null if there is nothing to commit. */
  readonly offset: SourceOffset | null;
  /** Milliseconds before the next poll; 0: the next poll follows at once. */
  readonly waitMs: number;
  /** If this signal aborts, the wait ends early. */
  readonly wake?: AbortSignal;
  /** Called after the commit, with the commit's duration. Before this call, the task stays at the earlier offset. */
  committed(commitMs: number): void;
}

/** Polls one source until the writer fails. After a failed commit, a new task starts from the committed offset. */
export interface SourceTask {
  /**
   * No transaction is open during a poll, because an open transaction delays every reader of the topics.
   *
   * @throws ConnectorError. The error's action says how `poll` is repeated, for example with fewer items.
   */
  poll(signal: AbortSignal): Promise<SourceTurn>;
}

export interface SourceWorkerOptions {
  readonly source: string;
  readonly task: SourceTask;
  readonly commit: (records: readonly OutgoingRecord[], offset: SourceOffset) => Promise<void>;
  readonly target: () => WorkerTarget;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
  readonly signal: AbortSignal;
}

/**
 * The loop of every source: poll, commit one transaction, and wait for the time that the poll returned. A paused source
 * finishes its poll and keeps its task. A failed poll is repeated after a back-off that depends on the error's action.
 * A failed commit is not repeated, because only the committed offset shows if the commit succeeded.
 * Never resolves. Rejects with the signal's reason, a commit's error, or a poll's error that no repetition corrects.
 */
export async function runSource(options: SourceWorkerOptions): Promise<never> {
  for (;;) {
    const turn = await pollUntilAnswered(options);
    if (turn.offset !== null) {
      const startedMs = options.clock.monotonicMs();
      await options.commit(turn.records, turn.offset);
      turn.committed(options.clock.monotonicMs() - startedMs);
    }
    if (turn.waitMs > 0) await wait(options, turn.waitMs, turn.wake);
    options.signal.throwIfAborted();
  }
}

async function pollUntilAnswered(options: SourceWorkerOptions) {
  const { source, task, random, events, signal } = options;
  for (let failures = 1; ; failures++) {
    await whilePaused(options);
    try {
      return await task.poll(signal);
    } catch (error) {
      signal.throwIfAborted();
      const waitMs = pollWaitMs(error, failures, random);
      events.attemptFailed({ source, failures, waitMs, err: error as Error });
      await wait(options, waitMs);
    }
  }
}

async function wait({ clock, target, signal }: SourceWorkerOptions, waitMs: number, wake?: AbortSignal): Promise<void> {
  const { state, changed } = target();
  if (state !== 'running') return;
  const woken = wake === undefined ? changed : AbortSignal.any([wake, changed]);
  await clock.sleep(waitMs, AbortSignal.any([signal, woken])).catch((reason: unknown) => {
    signal.throwIfAborted();
    if (!woken.aborted) throw reason;
  });
}

async function whilePaused({ source, target, events, signal }: SourceWorkerOptions): Promise<void> {
  const { state } = target();
  if (state === 'running') return;
  if (state === 'paused') events.sourcePaused({ source });
  await untilTarget(target, (now) => now.state === 'running', signal);
  if (state === 'paused') events.sourceResumed({ source });
}

/** The back-off after a failed poll, by the action of the error. If the action is not in this table, the loop ends. */
const POLL_BACK_OFF: Readonly<Partial<Record<ErrorAction, BackOff>>> = {
  retry: { initialMs: 500, maximumMs: 60_000 },
  askForLess: { initialMs: 100, maximumMs: 60_000 },
  retrySlowly: SLOW_BACK_OFF,
};

/** `failures`: consecutive failures, including this failure. @throws `error` if a repetition does not help. */
export function pollWaitMs(error: unknown, failures: number, random: Random): number {
  const backOff = error instanceof ConnectorError ? POLL_BACK_OFF[error.action] : undefined;
  if (!(error instanceof ConnectorError) || backOff === undefined) throw error;
  return Math.max(error.retryAfterMs ?? 0, backOffMs(failures, backOff, random));
}
