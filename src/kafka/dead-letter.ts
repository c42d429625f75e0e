import { createHash } from 'node:crypto';
import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { within } from '../support/deadline.ts';
import type { LogReader } from './log-reader.ts';
import { type CommittedRecord, type OutgoingRecord, partitionFor, type TargetTopic } from './record.ts';

const LONGEST_VALUE_BYTES = 256 * 1024;
/** A longer key is not ours, and is left out: a key of a megabyte would be refused for ever, with all records behind it. */
const LONGEST_KEY_BYTES = 64 * 1024;

/** An input that could not become a record, and why. */
interface RejectedInput {
  /** The key that the record would have had; null when it cannot be read. */
  readonly key: string | null;
  /** The place of the error in the input, as a JSON pointer. */
  readonly pointer: string;
  /** The reason; it quotes no value. */
  readonly reason: string;
  /** The input's bytes as they came. */
  readonly raw: Buffer;
}

/**
 * A record for the dead letter topic: the input's key, unless that is over-long, and its bytes, cut at 256 KiB, with
 * Kafka Connect's error headers and what is needed to find the whole input again (full length and SHA-256).
 */
export function deadLetterRecord(options: {
  readonly topic: TargetTopic;
  readonly source: string;
  readonly targetTopic: string;
  readonly input: RejectedInput;
  readonly provenance: Readonly<Record<string, string>>;
}): OutgoingRecord {
  const { topic, source, input } = options;
  const named = input.key === null ? null : Buffer.from(input.key, 'utf8');
  const key = named !== null && named.length > LONGEST_KEY_BYTES ? null : named;
  return {
    topic: topic.name,
    partition: partitionFor(key ?? Buffer.alloc(0), topic.partitions),
    key,
    value: input.raw.subarray(0, LONGEST_VALUE_BYTES),
    headers: {
      ...options.provenance,
      '__connect.errors.topic': options.targetTopic,
      '__connect.errors.connector.name': source,
      '__connect.errors.task.id': '0',
      '__connect.errors.stage': 'VALUE_CONVERTER',
      '__connect.errors.exception.message': input.reason,
      'spc-pointer': input.pointer,
      'spc-length': String(input.raw.length),
      'spc-sha256': createHash('sha256').update(input.raw).digest('hex'),
    },
  };
}

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
