import { ConnectorError } from '../errors.ts';
import type { OwnershipProof } from '../kafka/group-reader.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';

const REOPEN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 30_000 };
/** A process that has fenced us may finish, as an operator's command that changes an offset; each time for longer. */
const FENCED_WAIT_MS = 1_000;
const MOST_FENCED_WAITS = 10;
const RECOVERABLE: readonly ConnectorError['action'][] = ['reopenWriter', 'retry', 'retrySlowly'];

/** One opening of a writer, until something goes wrong with it. */
export interface WriterSession<Position> {
  /** The committed position when the writer opened: the session starts from there. */
  readonly position: Position;
  readonly startedMs: number;
  /** To be called after each commit: what goes wrong next is the first failure again. */
  readonly committed: () => void;
}

export interface WriterSessionsOptions<Position> {
  readonly writer: TransactionalWriter;
  /** Runs after the fence, which makes the result final. */
  readonly readPosition: (signal: AbortSignal) => Promise<Position>;
  /** One session, from the position on; when it resolves, another one begins. */
  readonly run: (session: WriterSession<Position>) => Promise<void>;
  /** Resolves once there is something to run; with false when there never will be. */
  readonly untilDue?: (signal: AbortSignal) => Promise<boolean>;
  /** Deals with an error that ends a part of the work for good. True: the others go on at once, in a new session. */
  readonly stopFailed?: (error: unknown) => boolean;
  readonly lost: (error: ConnectorError) => void;
  /** The proof that the writer is still ours; left out where a single process needs none. */
  readonly ownershipProof?: OwnershipProof['since'] | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * The second half of a worker task (membership.ts is the first): open the writer, which proves the ownership, fences and
 * reads the position; run from there; and on any doubt open it again. What goes wrong with the writer ends the session
 * and all that it had asked for, and the next one starts from what is truly committed. There is no second way to begin.
 *
 * @returns when nothing is left to run; rejects with the signal's reason, or with an error that no repetition mends.
 */
export async function runWriterSessions<Position>(options: WriterSessionsOptions<Position>): Promise<void> {
  const { writer, readPosition, run, untilDue, ownershipProof, clock, random, signal } = options;
  let fencings = 0;
  try {
    for (let failures = 1; (await untilDue?.(signal)) !== false; failures++) {
      const committed = () => {
        failures = 0;
        fencings = 0;
      };
      const startedMs = clock.monotonicMs();
      try {
        await run({ position: await writer.open(readPosition, signal), startedMs, committed });
      } catch (error) {
        signal.throwIfAborted();
        if (options.stopFailed?.(error)) continue;
        if (!isRecoverable(error)) throw error;
        options.lost(error);
        const failedMs = clock.monotonicMs();
        fencings = error.code === 'WRITER_FENCED' ? Math.min(fencings + 1, MOST_FENCED_WAITS) : 0;
        const waitMs = backOffMs(Math.max(failures, 1), REOPEN_BACK_OFF, random);
        await clock.sleep(Math.max(waitMs, fencings * FENCED_WAIT_MS), signal);
        // Not every failure is one of the writer, which waits for proof since its own.
        await ownershipProof?.(failedMs, signal);
      }
    }
  } finally {
    await writer.close();
  }
}

function isRecoverable(error: unknown): error is ConnectorError {
  return error instanceof ConnectorError && RECOVERABLE.includes(error.action);
}
