import { ConnectorError } from '../errors.ts';
import type { WriterOptions, WriterTransaction } from '../kafka/transactional-writer.ts';
import { retry } from '../support/retry.ts';
import { systemRandom } from '../support/system-random.ts';
import type { Installation } from './installation.ts';

const MOST_TURNS = 8;
const BACK_OFF = { initialMs: 200, maximumMs: 5_000 };

/** The committed state, and the transaction that follows from it. */
interface Turn<Found> {
  /** Where opening aborts what hangs; see `WriterOptions.abortHanging`. */
  readonly abortHanging?: WriterOptions['abortHanging'];
  /** Reads what is committed; runs after every other writer with this transactional id was fenced. */
  read(signal: AbortSignal): Promise<Found>;
  /** The transaction that follows; an empty one ends the turn without a transaction. */
  writes(found: Found): WriterTransaction;
}

/**
 * Reads and writes in one step, for all that use the same transactional id: each writer that opens fences the one
 * before, and a writer that was fenced, or whose commit was not answered, begins again from what is committed then. So
 * no process undoes, or repeats, what another one has written.
 *
 * @returns what was found in the turn that counted.
 * @throws ConnectorError as the transactional writer does, after 8 turns at the latest.
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
