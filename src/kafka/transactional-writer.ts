import type { OwnershipProof } from './group-reader.ts';
import type { OutgoingRecord } from './record.ts';
import type { TopicPartition } from './topic.ts';

/** Each commit is one transaction. After any failure, the writer cannot be used until it is opened again. */
export interface TransactionalWriter {
  /**
   * Fences all earlier holders of the transactional id, ends their open transactions, and *then* reads the position (the
   * committed offset) with `readPosition`. Repeats these steps until they succeed or a deadline passes. A ConnectorError
   * of `readPosition` ends the opening if the error's action is not `retry`. The signal ends the opening. After the
   * opening, the signal also ends each `commit` that waits for a proof of ownership.
   * @throws ConnectorError KAFKA_UNREACHABLE at the deadline; WRITER_IDS_SHARED if others took over the id three times
   *   in five minutes; TOPIC_REFUSED or WRITER_REFUSED if an ACL is missing; TOPIC_DELETED; TRANSACTION_HANGS if a
   *   hanging transaction hides the position; WRITER_CLOSED if the writer is closed or opened again meanwhile; or the signal's reason.
   */
  open<Position>(readPosition: (signal: AbortSignal) => Promise<Position>, signal: AbortSignal): Promise<Position>;
  /**
   * Writes everything in one transaction: the records in their order within each partition, then the offsets. Resolves
   * after the commit; readers can see the records a few milliseconds later. Allows one commit at a time.
   *
   * @throws ConnectorError WRITER_CLOSED if the writer is closed or another commit is in progress; nothing was written.
   * @throws ConnectorError TRANSACTION_FAILED or WRITER_FENCED: the outcome is unknown until the next `open`.
   * @throws ConnectorError TOPIC_REFUSED (field `topics`) or WRITER_REFUSED if no retry helps, or TOPIC_DELETED; nothing was committed.
   */
  commit(transaction: WriterTransaction): Promise<void>;
  /** Waits for a commit in progress. Afterwards nothing is written. Safe to call more than once. */
  close(): Promise<void>;
}

export interface WriterTransaction {
  readonly records: readonly OutgoingRecord[];
  /** Sent last, because this offset says that all other records are written. */
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
   * Resolves when the group confirms that this process owns the partition. The confirmed request must be sent after the
   * given time. An opening needs a proof that is newer than the last failure. A transaction needs a recent proof at its
   * start and at its commit. A writer outside a group needs no proof.
   */
  readonly ownershipProof?: OwnershipProof['since'];
  /** How often operators' commands fenced this writer since the last call. WRITER_IDS_SHARED ignores these fencings. */
  readonly excused?: () => number;
  /** The writer's partitions; a source's offset is in the first one. An opening ends the hanging transactions in all of them. */
  readonly abortHanging?: () => readonly TopicPartition[];
  /** Names the writer's consumer offset. An opening also ends the hanging transactions that contain this offset. */
  readonly abortHangingOffset?: Omit<ConsumerOffset, 'offset' | 'metadata'>;
}
