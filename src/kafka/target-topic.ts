import { partitionFor } from './partitioner.ts';
import type { OutgoingRecord } from './record.ts';

/** A topic that a task writes to. */
export interface TargetTopic {
  readonly name: string;
  readonly partitions: number;
}

/** A record on the partition of its key, which is that of every Java producer too. */
export function keyedRecord(
  topic: TargetTopic,
  key: string,
  value: Buffer | null,
  headers: Readonly<Record<string, string>>,
): OutgoingRecord {
  const bytes = Buffer.from(key, 'utf8');
  return { topic: topic.name, partition: partitionFor(bytes, topic.partitions), key: bytes, value, headers };
}
