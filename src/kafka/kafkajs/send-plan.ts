import type { CompressionTypes, Message, Transaction } from 'kafkajs';
import type { OutgoingRecord } from '../record.ts';
import type { WriterTransaction } from '../transactional-writer.ts';

/** The records of one record batch, for one partition. */
interface PlannedSend {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly OutgoingRecord[];
  /** An upper limit of the size in bytes, before compression. */
  readonly bytes: number;
}

interface SendLimits {
  readonly maxSendBytes: number;
  readonly maxSendRecords: number;
  readonly maxBatchBytes?: (topic: string) => number | undefined;
  /** The maximum size of a round (see `planRounds`) in bytes, before compression. A round of one batch can be larger. */
  readonly maxRoundBytes: number;
}

/** The maximum size of a record's other fields: attributes, deltas, and the lengths of record, key, value, headers. */
const RECORD_OVERHEAD_BYTES = 32;
const BATCH_OVERHEAD_BYTES = 61;
const HEADER_OVERHEAD_BYTES = 10;

/**
 * Divides records into rounds. A round is one request to each broker, with at most one batch for each partition. A
 * batch is larger than the limits only if it has one record. The source offset is the last record of its partition, in
 * the last round: readers never see the offset earlier than the records that it covers.
 */
export function planRounds(
  { records, sourceOffset }: Omit<WriterTransaction, 'consumerOffset'>,
  limits: SendLimits,
): readonly (readonly PlannedSend[])[] {
  const byPartition = new Map<string, OutgoingRecord[]>();
  for (const record of records) {
    const key = partitionKey(record);
    const group = byPartition.get(key);
    if (group) group.push(record);
    else byPartition.set(key, [record]);
  }
  const lastKey = sourceOffset ? partitionKey(sourceOffset) : '';
  const lastGroup = sourceOffset ? [...(byPartition.get(lastKey) ?? []), sourceOffset] : [];
  byPartition.delete(lastKey);
  const rounds = inRounds(
    [...byPartition.values()].map((group) => cut(group, limits)),
    limits,
  );
  const lastRound = rounds.at(-1);
  const [first, ...more] = cut(lastGroup, limits);
  if (first === undefined) return rounds;
  if (lastRound && bytesOf(lastRound) + first.bytes <= limits.maxRoundBytes) lastRound.push(first);
  else rounds.push([first]);
  return [...rounds, ...more.map((send) => [send])];
}

function inRounds(queues: readonly PlannedSend[][], { maxRoundBytes }: SendLimits): PlannedSend[][] {
  const rounds: PlannedSend[][] = [];
  let waiting = queues;
  while (waiting.length > 0) {
    const round: PlannedSend[] = [];
    let bytes = 0;
    for (const queue of waiting) {
      const [next] = queue;
      if (next === undefined || (round.length > 0 && bytes + next.bytes > maxRoundBytes)) continue;
      queue.shift();
      round.push(next);
      bytes += next.bytes;
    }
    rounds.push(round);
    waiting = waiting.filter(({ length }) => length > 0);
  }
  return rounds;
}

function bytesOf(sends: readonly PlannedSend[]): number {
  return sends.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The size before compression, without the headers. */
function contentBytes({ key, value }: OutgoingRecord): number {
  return RECORD_OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
}

function headerBytes(headers: OutgoingRecord['headers']): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  return bytes;
}

function cut(group: readonly OutgoingRecord[], limits: SendLimits): PlannedSend[] {
  const sends: PlannedSend[] = [];
  const takes = limits.maxBatchBytes?.(group[0]?.topic ?? '') ?? Number.POSITIVE_INFINITY;
  const maxSendBytes = Math.min(limits.maxSendBytes, takes - BATCH_OVERHEAD_BYTES);
  let chunk: OutgoingRecord[] = [];
  let chunkBytes = 0;
  const end = () => {
    const [first] = chunk;
    if (first) sends.push({ topic: first.topic, partition: first.partition, records: chunk, bytes: chunkBytes });
    chunk = [];
    chunkBytes = 0;
  };
  // The records of a page share one headers object. Its size is computed once.
  let headers: OutgoingRecord['headers'] | undefined;
  let sharedBytes = 0;
  for (const record of group) {
    if (record.headers !== headers) {
      headers = record.headers;
      sharedBytes = headerBytes(headers);
    }
    const bytes = contentBytes(record) + sharedBytes;
    if (chunkBytes + bytes > maxSendBytes || chunk.length === limits.maxSendRecords) end();
    chunk.push(record);
    chunkBytes += bytes;
  }
  end();
  return sends;
}

function partitionKey({ topic, partition }: OutgoingRecord): string {
  return `${topic}/${partition}`;
}

/**
 * @returns when the broker appended the records, in ms since 1970 by the broker's clock; null without LogAppendTime.
 * @throws Error if a partition did not acknowledge its batch, or kafkajs' error. Other batches are perhaps written.
 */
export async function sendRound(
  transaction: Transaction,
  round: readonly Pick<PlannedSend, 'topic' | 'partition' | 'records'>[],
  compression: CompressionTypes,
): Promise<number | null> {
  const topicMessages = round.map(({ topic, records }) => ({ topic, messages: records as unknown as Message[] }));
  const responses = await transaction.sendBatch({ topicMessages, acks: -1, compression });
  const acknowledged = new Set<string>();
  for (const { topicName, partition, errorCode } of responses) {
    if (errorCode === 0) acknowledged.add(`${topicName}/${partition}`);
  }
  for (const { topic, partition } of round) {
    if (acknowledged.has(`${topic}/${partition}`)) continue;
    const text = `partition ${partition} of topic ${topic} did not acknowledge the records (does this partition exist?)`;
    throw Object.assign(new Error(text), { topic });
  }
  const appendedMs = Math.max(...responses.map(({ logAppendTime }) => Number(logAppendTime ?? -1)));
  return appendedMs > 0 ? appendedMs : null;
}
