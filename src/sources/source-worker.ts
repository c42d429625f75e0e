import { ConnectorError, type ErrorAction } from '../errors.ts';
import type { SourceOffset } from '../kafka/offset-store.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { Events } from '../observe/events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { untilTarget, type WorkerTarget } from '../worker/target.ts';

export interface SourceTurn {
  /** Records, dead letters and notifications of one transaction. */
  readonly records: readonly OutgoingRecord[];
  /** The offset of that transaction; null when there is nothing to commit. */
  readonly offset: SourceOffset | null;
  /** Milliseconds before the next poll; 0 for at once. */
  readonly waitMs: number;
  /** Ends the wait early. */
  readonly wake?: AbortSignal;
  /** Called after the commit, with its duration: the task moves on from here only. */
  committed(commitMs: number): void;
}

/** A source for one opening of the writer: it asks and decides. After a failed commit, a new one starts. */
export interface SourceTask {
  /**
   * No transaction is open meanwhile: a slow response would hold up every reader of the topics.
   *
   * @throws ConnectorError: its action says whether another try is useful; that one may ask for less.
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
 * The loop of every source: poll, one transaction, then at once again or after a wait. A paused source finishes its
 * poll and keeps its task. A failed poll is repeated as its error says; a failed commit is not, since only the
 * committed offset shows whether it succeeded.
 *
 * @returns never: it ends by the signal's reason or by an error that no repetition mends.
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

/** Ends early when the task is woken, or the target changes. */
async function wait({ clock, target, signal }: SourceWorkerOptions, waitMs: number, wake?: AbortSignal): Promise<void> {
  const { state, changed } = target();
  if (state !== 'running') return;
  const woken = wake === undefined ? changed : AbortSignal.any([wake, changed]);
  await clock.sleep(waitMs, AbortSignal.any([signal, woken])).catch((reason: unknown) => {
    if (!woken.aborted || signal.aborted) throw reason;
  });
}

async function whilePaused({ source, target, events, signal }: SourceWorkerOptions): Promise<void> {
  const { state } = target();
  if (state === 'running') return;
  if (state === 'paused') events.sourcePaused({ source });
  await untilTarget(target, (now) => now.state === 'running', signal);
  if (state === 'paused') events.sourceResumed({ source });
}

/** An action without a row ends the source. */
const POLL_BACK_OFF: Readonly<Partial<Record<ErrorAction, BackOff>>> = {
  retry: { initialMs: 500, maximumMs: 60_000 },
  askForLess: { initialMs: 100, maximumMs: 60_000 },
  retrySlowly: { initialMs: 10_000, maximumMs: 300_000 },
};

/** `failures`: in a row, this one included. @throws the error itself when no repetition mends it. */
export function pollWaitMs(error: unknown, failures: number, random: Random): number {
  const backOff = error instanceof ConnectorError ? POLL_BACK_OFF[error.action] : undefined;
  if (!(error instanceof ConnectorError) || backOff === undefined) throw error;
  return Math.max(error.retryAfterMs ?? 0, backOffMs(failures, backOff, random));
}
