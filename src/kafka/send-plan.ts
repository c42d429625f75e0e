import type { OutgoingRecord } from './record.ts';

/** What goes to one partition in one send, and so becomes one record batch. */
export interface PlannedSend {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly OutgoingRecord[];
}

export interface SendLimits {
  readonly maxSendBytes: number;
  readonly maxSendRecords: number;
}

/** Length, attributes, deltas and the lengths of key, value and headers of one record in a batch, at most. */
const RECORD_OVERHEAD_BYTES = 32;
/** The two lengths of one header. */
const HEADER_OVERHEAD_BYTES = 10;

/**
 * The sends of one transaction: one partition each, since kafkajs can double a record when it sends to several brokers
 * at once; each within the limits, unless it holds one single record. The topic-partition named last comes last, so that
 * the offset record follows everything that it stands for.
 */
export function planSends(records: readonly OutgoingRecord[], limits: SendLimits): readonly PlannedSend[] {
  const byPartition = new Map<string, OutgoingRecord[]>();
  for (const record of records) {
    const key = partitionKey(record);
    const group = byPartition.get(key);
    if (group) group.push(record);
    else byPartition.set(key, [record]);
  }
  const last = records.at(-1);
  if (last === undefined) return [];
  const lastGroup = byPartition.get(partitionKey(last)) ?? [];
  byPartition.delete(partitionKey(last));
  return [...byPartition.values(), lastGroup].flatMap((group) => cut(group, limits));
}

/** What a record takes up in a batch before compression, in bytes; never less than the real size. */
export function recordBytes(record: OutgoingRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const [name, value] of Object.entries(record.headers)) {
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  return bytes;
}

function cut(group: readonly OutgoingRecord[], limits: SendLimits): PlannedSend[] {
  const sends: PlannedSend[] = [];
  let chunk: OutgoingRecord[] = [];
  let chunkBytes = 0;
  for (const record of group) {
    const bytes = recordBytes(record);
    const full = chunkBytes + bytes > limits.maxSendBytes || chunk.length === limits.maxSendRecords;
    if (full && chunk.length > 0) {
      sends.push({ topic: record.topic, partition: record.partition, records: chunk });
      chunk = [];
      chunkBytes = 0;
    }
    chunk.push(record);
    chunkBytes += bytes;
  }
  const first = chunk[0];
  if (first) sends.push({ topic: first.topic, partition: first.partition, records: chunk });
  return sends;
}

function partitionKey({ topic, partition }: OutgoingRecord): string {
  return `${topic}/${partition}`;
}
