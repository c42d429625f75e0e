import { createHash } from 'node:crypto';
import { partitionFor } from './partitioner.ts';
import type { OutgoingRecord } from './record.ts';
import type { TargetTopic } from './target-topic.ts';

const LONGEST_VALUE_BYTES = 256 * 1024;
/** A longer key is not ours, and is left out: a key of a megabyte would be refused for ever, with all records behind it. */
const LONGEST_KEY_BYTES = 64 * 1024;

/** An input that could not become a record, and why. */
export interface RejectedInput {
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
