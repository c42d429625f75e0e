import { createHash } from 'node:crypto';
import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { within } from '../support/deadline.ts';
import type { LogReader } from './log-reader.ts';
import { type CommittedRecord, type OutgoingRecord, partitionFor, type TargetTopic } from './record.ts';

const LONGEST_VALUE_BYTES = 256 * 1024;
/** A longer key is omitted: a broker would always refuse a key of a megabyte, and all later records would wait. */
const LONGEST_KEY_BYTES = 64 * 1024;

/** An input that could not become a record, and the reason. */
interface RejectedInput {
  /** Null if the key cannot be read. */
  readonly key: string | null;
  /** The JSON pointer of the rejected part of the input. */
  readonly pointer: string;
  /** The reason; it contains no value of the input. */
  readonly reason: string;
  readonly raw: Buffer;
}

/** Makes a dead letter. Its headers are Kafka Connect's error headers, and the length and SHA-256 of the input. */
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

/** The maximum number of offsets to read, summed over all partitions. */
const MOST_READ = 50_000;
const PATIENCE_MS = 60_000;

export interface DeadLetterTail {
  readonly reader: LogReader;
  readonly topic: TargetTopic;
  /** The name of the source. Its dead letters have this name in the header `spc-source`. */
  readonly source: string;
  /** Called for each dead letter of the source. The header `__connect.errors.topic` names its target topic. */
  readonly onLetter: (letter: Pick<CommittedRecord, 'headers'> & { readonly key: string | null }) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Reads the newest dead letters, so a restart does not write them again. Resolves even if the reading fails or takes too long.
 * @throws only the signal's reason.
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
