import type { OwnershipProof } from './group-reader.ts';
import type { OutgoingRecord } from './record.ts';
import type { TopicPartition } from './topic.ts';

/** Each commit is one whole transaction. After any failure the writer is dead until it is opened again. */
export interface TransactionalWriter {
  /**
   * Fences every earlier holder of the transactional id, ends their open transactions, and *then* reads the position. Tries
   * again until it succeeds or its deadline passes; `readPosition` may run several times. A ConnectorError of it whose action
   * is not `retry` ends the opening. The signal ends the opening, and later a commit that waits for proof.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE at the deadline, WRITER_IDS_SHARED when the id was taken three times in five
   *   minutes, TOPIC_REFUSED or WRITER_REFUSED without the rights, TRANSACTION_HANGS when the position lies behind a transaction
   *   that does not end, WRITER_CLOSED when it is closed or opened again meanwhile, or the signal's reason.
   */
  open<Position>(readPosition: (signal: AbortSignal) => Promise<Position>, signal: AbortSignal): Promise<Position>;
  /**
   * Writes everything in one transaction: the records in their order within each partition, then the offsets. Resolves when
   * it is committed; readers may see it a few milliseconds later. One commit at a time.
   *
   * @throws ConnectorError WRITER_CLOSED when it is not open or another commit is under way; nothing was written.
   * @throws ConnectorError TRANSACTION_FAILED or WRITER_FENCED: only `open` finds out whether it was committed.
   * @throws ConnectorError TOPIC_REFUSED (its field `topics`) or WRITER_REFUSED when no retry helps; nothing was committed.
   */
  commit(transaction: WriterTransaction): Promise<void>;
  /** Lets a commit under way end; then nothing is written any more. Safe to call more than once. */
  close(): Promise<void>;
}

export interface WriterTransaction {
  readonly records: readonly OutgoingRecord[];
  /** Sent last: it covers the other records. */
  readonly sourceOffset?: OutgoingRecord | undefined;
  readonly consumerOffset?: ConsumerOffset | undefined;
}

export interface ConsumerOffset {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
  /** The next offset to read. */
  readonly offset: bigint;
  /** At most 4,000 characters. */
  readonly metadata?: string | undefined;
}

export interface WriterOptions {
  /**
   * Resolves with proof, newer than a moment, that this process owns the partition of the transactional id. An opening needs
   * proof newer than the last failure, a transaction a recent one at its begin and its commit. A single process needs none.
   */
  readonly ownershipProof?: OwnershipProof['since'];
  /** Fencings by an operator since the last call; they do not count as another installation. */
  readonly excused?: () => number;
  /** Every partition that will be written to, that of the position first; asked at each attempt to open (kafkajs-hanging.ts). */
  readonly abortHanging?: () => readonly TopicPartition[];
  readonly abortHangingOffset?: Omit<ConsumerOffset, 'offset' | 'metadata'>;
}
