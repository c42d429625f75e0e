/** One record on its way to Kafka. We choose the partition, never the client: consumers join topics by partition. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: Buffer | null;
  /** Null is a tombstone. */
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** One committed record as a read_committed reader sees it. */
export interface CommittedRecord extends OutgoingRecord {
  readonly offset: bigint;
  /** Milliseconds since the epoch, the broker's clock (LogAppendTime). */
  readonly timestampMs: number;
}
