import { ConnectorError } from '../errors.ts';
import type { WriterOptions, WriterTransaction } from '../kafka/transactional-writer.ts';
import { systemRandom } from '../support/clock.ts';
import { retry } from '../support/retry.ts';
import type { Installation } from './installation.ts';

const MOST_TURNS = 8;
const BACK_OFF = { initialMs: 200, maximumMs: 5_000 };

/** A read of the committed state, and the transaction that depends on this state. */
interface Turn<Found> {
  /** The partitions on which the new writer aborts transactions that earlier writers left open. */
  readonly abortHanging?: WriterOptions['abortHanging'];
  /** Reads the committed state, after all earlier writers with this transactional id are fenced. */
  read(signal: AbortSignal): Promise<Found>;
  /** Returns the transaction. If the transaction is empty, nothing is written. */
  writes(found: Found): WriterTransaction;
}

/**
 * Reads the committed state, then commits a transaction that depends on this state. Several processes may use one
 * transactional id. A new writer fences the earlier writer. If a writer is fenced, or its commit gets no answer,
 * the work begins again with a read. So no process undoes or repeats the writes of another process.
 *
 * @returns the state that `read` found in the successful attempt.
 * @throws ConnectorError of the transactional writer, after at most 8 attempts.
 */
export async function commitInTurn<Found>(
  { kafka, clock, signal }: Pick<Installation, 'kafka' | 'clock' | 'signal'>,
  transactionalId: string,
  turn: Turn<Found>,
): Promise<Found> {
  const takeTurn = async () => {
    const writer = kafka.transactionalWriter(transactionalId, turn.abortHanging && { abortHanging: turn.abortHanging });
    try {
      const found = await writer.open(turn.read, signal);
      await writer.commit(turn.writes(found));
      return found;
    } finally {
      await writer.close();
    }
  };
  const mayRetry = (error: unknown) => error instanceof ConnectorError && error.action === 'reopenWriter';
  return retry(takeTurn, { backOff: BACK_OFF, attempts: MOST_TURNS, mayRetry, clock, random: systemRandom, signal });
}
