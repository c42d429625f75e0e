import { ConnectorError } from '../errors.ts';
import type { OwnershipProof } from '../kafka/group-reader.ts';
import type { TransactionalWriter } from '../kafka/transactional-writer.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';

const REOPEN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 30_000 };
/** Each consecutive fence makes the wait this much longer, so that an `offsets` command which fences us can finish. */
const FENCED_WAIT_MS = 1_000;
const MOST_FENCED_WAITS = 10;
const RECOVERABLE: readonly ConnectorError['action'][] = ['reopenWriter', 'retry', 'retrySlowly'];

/** The use of a writer from its opening to its first failure. */
export interface WriterSession<Position> {
  /** The committed position, read when the writer was opened. The session starts at this position. */
  readonly position: Position;
  readonly startedMs: number;
  /** Must be called after each commit. Then the next failure counts as the first failure. */
  readonly committed: () => void;
}

export interface WriterSessionsOptions<Position> {
  readonly writer: TransactionalWriter;
  /** Reads the committed position. Earlier writers are fenced before this call, so they cannot change the position. */
  readonly readPosition: (signal: AbortSignal) => Promise<Position>;
  /** Runs one session. After the promise resolves, another session begins. */
  readonly run: (session: WriterSession<Position>) => Promise<void>;
  /** Resolves with true when there is work to run, and with false if no work is left. */
  readonly untilDue?: (signal: AbortSignal) => Promise<boolean>;
  /** Handles an error that permanently stops one source. Returns true if a new session must run the other sources. */
  readonly stopFailed?: (error: unknown) => boolean;
  readonly lost: (error: ConnectorError) => void;
  /** Waits until the group confirms that this process owns the writer's partition; absent without a group. */
  readonly ownershipProof?: OwnershipProof['since'] | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * Runs the work of one partition (see membership.ts) in sessions of a transactional writer. A session begins when the
 * writer is opened: the opening proves the ownership, fences earlier writers and reads the committed position. A
 * failure of the writer ends the session and drops the pending requests of the session. Then the next session begins.
 *
 * @returns when no work is left; rejects with the signal's reason, or with an error that a retry cannot correct.
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
        // `writer.open` waits for a new proof only after a failure of the writer. So other failures need this wait.
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
