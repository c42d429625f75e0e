import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { within } from '../support/deadline.ts';
import type { LogReader } from './log-reader.ts';
import type { CommittedRecord } from './record.ts';
import type { TargetTopic } from './target-topic.ts';

/** Of so many records at the ends of all partitions together, at most, those of one source or of the prices are looked at. */
const MOST_READ = 50_000;
/** No work waits longer for what is on the topic already. */
const PATIENCE_MS = 60_000;

export interface DeadLetterTail {
  readonly reader: LogReader;
  readonly topic: TargetTopic;
  /** As `spc-source` of the dead letters has it. */
  readonly source: string;
  /** The topic that the input was to become a record of is `__connect.errors.topic` of the headers. */
  readonly onLetter: (letter: Pick<CommittedRecord, 'headers'> & { readonly key: string | null }) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Reads the newest dead letters, so that a restart writes none of them again. Best effort: what lies farther back, what
 * cannot be read or not soon, and what another writer's open transaction hides for the moment is a dead letter twice,
 * which loses nothing.
 *
 * @throws the signal's reason, and nothing else.
 */
export async function readDeadLetterTail(options: DeadLetterTail): Promise<void> {
  const { reader, topic, source, onLetter, clock, signal } = options;
  const over = new AbortController();
  const reading = reader.readToEnd({
    topic: topic.name,
    partitions: Array.from({ length: topic.partitions }, (_, partition) => partition),
    newest: Math.ceil(MOST_READ / topic.partitions),
    onRecord({ key, headers }) {
      if (headers['spc-source'] === source) onLetter({ key: key === null ? null : key.toString('utf8'), headers });
    },
    signal: AbortSignal.any([signal, over.signal]),
  });
  try {
    const late = () => new ConnectorError('KAFKA_UNREACHABLE', `${topic.name} was not read in time.`);
    await within(reading, PATIENCE_MS, clock, late);
  } catch (error) {
    over.abort(error);
    signal.throwIfAborted();
  }
}
