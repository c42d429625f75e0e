import { ConnectorError } from '../errors.ts';
import type { OwnershipProof } from '../kafka/group-reader.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';

const REOPEN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 30_000 };
/** The wait per consecutive fence, so that the other process (such as an `offsets` command) can finish. */
const FENCED_WAIT_MS = 1_000;
const MOST_FENCED_WAITS = 10;
const RECOVERABLE: readonly ConnectorError['action'][] = ['reopenWriter', 'retry', 'retrySlowly'];

/** One session of a writer, from its opening to its first failure. */
export interface WriterSession<Position> {
  /** The committed position at the opening of the writer: the session starts there. */
  readonly position: Position;
  readonly startedMs: number;
  /** Called after each commit: the next failure counts as the first failure again. */
  readonly committed: () => void;
}

export interface WriterSessionsOptions<Position> {
  readonly writer: TransactionalWriter;
  /** Runs after the fence, so no earlier writer can change the result. */
  readonly readPosition: (signal: AbortSignal) => Promise<Position>;
  /** Runs one session from the position. After it resolves, another session begins. */
  readonly run: (session: WriterSession<Position>) => Promise<void>;
  /** Resolves with true when there is work to run, and with false if no work is left. */
  readonly untilDue?: (signal: AbortSignal) => Promise<boolean>;
  /** Handles an error that permanently stops a part of the work. Returns true if a new session runs the other parts. */
  readonly stopFailed?: (error: unknown) => boolean;
  readonly lost: (error: ConnectorError) => void;
  /** The proof that this process still owns the writer; absent for a single process, which needs no proof. */
  readonly ownershipProof?: OwnershipProof['since'] | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * The second half of a worker task (membership.ts is the first). It opens the writer: the opening proves the ownership,
 * fences earlier writers and reads the position. Then it runs from the position. A failure of the writer ends the
 * session and drops its pending requests. The next session starts in the same way, from the committed position.
 *
 * @returns if no work is left; rejects with the signal's reason, or with an error that a retry cannot correct.
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
        // The writer waits for a new proof only after its own failures; this call covers all other failures.
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
