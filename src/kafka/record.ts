/** A record to write. The connector chooses the partition, because consumers join topics by partition number. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: Buffer | null;
  /** Null means a tombstone. */
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

export interface CommittedRecord extends OutgoingRecord {
  readonly offset: bigint;
  /** Milliseconds since the epoch, by the broker's clock (LogAppendTime). */
  readonly timestampMs: number;
}

export interface TargetTopic {
  readonly name: string;
  readonly partitions: number;
}

export function keyedRecord(
  topic: TargetTopic,
  key: string,
  value: Buffer | null,
  headers: Readonly<Record<string, string>>,
): OutgoingRecord {
  const bytes = Buffer.from(key, 'utf8');
  return { topic: topic.name, partition: partitionFor(bytes, topic.partitions), key: bytes, value, headers };
}

/** The constants of MurmurHash2, and the seed of Kafka's Java client. */
const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;
const SHIFT = 24;

/** Returns the result of `Utils.murmur2` of Kafka's Java client, a signed 32-bit number. */
export function murmur2(key: Buffer): number {
  const wholeWords = key.length & ~3;
  let hash = SEED ^ key.length;
  for (let at = 0; at < wholeWords; at += 4) {
    let word = Math.imul(key.readInt32LE(at), MULTIPLIER);
    word = Math.imul(word ^ (word >>> SHIFT), MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ word;
  }
  if (wholeWords < key.length) {
    hash ^= key.readUIntLE(wholeWords, key.length - wholeWords);
    hash = Math.imul(hash, MULTIPLIER);
  }
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
}

/** The partition of a key. Java producers, Kafka Connect and Kafka Streams choose the same partition. */
export function partitionFor(key: Buffer, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
