import type { OwnershipProof } from './group-reader.ts';
import type { OutgoingRecord } from './record.ts';
import type { TopicPartition } from './topic.ts';

/** Each commit is one whole transaction. After any failure the writer is dead until it is opened again. */
export interface TransactionalWriter {
  /**
   * Fences every earlier holder of the transactional id, ends their open transactions, and *then* reads the position
   * that the caller needs. All this is tried again until it succeeds or its deadline passes. Any earlier state is dropped.
   *
   * `readPosition` may run several times. Its error is tried again when its action is `retry` or it is not a
   * ConnectorError, and ends the opening otherwise. The signal ends the opening, and later a commit that waits for
   * proof (`WriterOptions.ownershipProof`).
   *
   * @throws ConnectorError KAFKA_UNREACHABLE when the deadline has passed, WRITER_IDS_SHARED when the id was taken from us
   *   three times in five minutes, TOPIC_REFUSED when it may not write to a topic where it aborts hanging transactions,
   *   WRITER_REFUSED when it may not write at all, TRANSACTION_HANGS when the position
   *   lies behind a transaction that does not end, WRITER_CLOSED when it is closed or opened again meanwhile, or the
   *   signal's reason.
   */
  open<Position>(readPosition: (signal: AbortSignal) => Promise<Position>, signal: AbortSignal): Promise<Position>;
  /**
   * Writes everything in one transaction: the records in their order within each partition, then the offset. Resolves
   * only when the transaction is committed; readers may see it a few milliseconds later. An offset may be committed
   * alone; without one and without records nothing happens. One commit at a time.
   *
   * @throws ConnectorError WRITER_CLOSED when the writer is not open or another commit is under way; nothing was written.
   * @throws ConnectorError TRANSACTION_FAILED or WRITER_FENCED: whether it was committed is unknown, the writer is dead,
   *   and only `open` finds out.
   * @throws ConnectorError TOPIC_REFUSED when Kafka refuses the records for a reason that no retry resolves; its field
   *   `topics` names the topics. WRITER_REFUSED when it refuses the writer's ids. Nothing was committed, and the writer is dead.
   */
  commit(transaction: WriterTransaction): Promise<void>;
  /**
   * Lets a commit under way end; then nothing is written any more. The connections are closed after that: the end of the
   * cluster waits for them. Safe to call more than once.
   */
  close(): Promise<void>;
}

/** What one transaction holds. */
export interface WriterTransaction {
  readonly records: readonly OutgoingRecord[];
  /** The record of the source offset that covers the other records: the writer sends it last. */
  readonly sourceOffset?: OutgoingRecord | undefined;
  /** The consumer offset of the input that led to the records. */
  readonly consumerOffset?: ConsumerOffset | undefined;
}

/** How far a group has read a partition, committed together with the results of what was read. */
export interface ConsumerOffset {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
  /** The next offset to read. */
  readonly offset: bigint;
  /** What else is to be known where reading goes on, in at most 4,000 characters; none when absent. */
  readonly metadata?: string | undefined;
}

export interface WriterOptions {
  /**
   * Resolves with proof, newer than a moment, that this process owns the partition of the transactional id; rejects when it
   * has lost it. An opening needs proof newer than the last failure, or it would fence the rightful owner. A transaction
   * needs a recent one at its begin and its commit. Left out where a single process needs none.
   */
  readonly ownershipProof?: OwnershipProof['since'];
  /** Fencings by an operator since the last call. They do not count as another installation with the same ids. */
  readonly excused?: () => number;
  /**
   * Every partition that will be written to until the next opening, that of the position first; asked at each attempt
   * to open. With it, opening also ends what a killed broker has left open of the last transaction (kafkajs-hanging.ts).
   */
  readonly abortHanging?: () => readonly TopicPartition[];
  /** The consumer offset that the writer commits, where that is the position. */
  readonly abortHangingOffset?: Omit<ConsumerOffset, 'offset' | 'metadata'>;
}
