import type { OwnershipProof } from './ownership-proof.ts';
import type { OutgoingRecord } from './record.ts';
import type { TopicPartition } from './topic.ts';

/**
 * A producer with one transactional id that cannot be misused: what it commits is whole, and after any failure it is
 * dead until it is opened again.
 */
export interface TransactionalWriter {
  /**
   * Fences every earlier holder of the transactional id, ends what they left open, and *then* reads the position that
   * the caller needs; the whole is tried again until it succeeds or its deadline passes. Any earlier state is dropped.
   *
   * `readPosition` may run several times; what it throws is tried again when its action is `retry` or it is no
   * ConnectorError, and ends the opening otherwise. The signal ends the opening, and later on a commit that waits for
   * proof (`WriterOptions.ownershipProof`).
   *
   * @throws ConnectorError KAFKA_UNREACHABLE when the deadline has passed, WRITER_IDS_SHARED when the id was taken from us
   *   three times in five minutes, TOPIC_REFUSED when it may not write where it aborts what hangs,
   *   WRITER_REFUSED when it may not write at all, WRITER_CLOSED when it is closed or opened again meanwhile, or the signal's reason.
   */
  open<Position>(readPosition: (signal: AbortSignal) => Promise<Position>, signal: AbortSignal): Promise<Position>;
  /**
   * Writes everything in one transaction: the records in their order within each partition, then the offset. Resolves
   * only when the transaction is committed; readers may see it a few milliseconds later. An offset may be committed
   * alone; without one and without records nothing happens. One commit at a time.
   *
   * @throws ConnectorError WRITER_CLOSED when the writer is not open or another commit is under way; nothing was written.
   * @throws ConnectorError TRANSACTION_FAILED or WRITER_FENCED: whether it was committed is unknown, the writer is dead,
   *   and only `open` tells which.
   * @throws ConnectorError TOPIC_REFUSED when Kafka refuses the records for a reason that no repetition mends; its field
   *   `topics` names where. WRITER_REFUSED when it refuses the writer's ids. Nothing was committed, and the writer is dead.
   */
  commit(transaction: WriterTransaction): Promise<void>;
  /** Lets a commit under way end, then disconnects. Safe to call more than once. */
  close(): Promise<void>;
}

/** What one transaction holds. */
export interface WriterTransaction {
  readonly records: readonly OutgoingRecord[];
  /** The record of the source offset that stands for the others: the writer sends it last. */
  readonly sourceOffset?: OutgoingRecord | undefined;
  /** The consumer offset that the records answer. */
  readonly consumerOffset?: ConsumerOffset | undefined;
}

/** How far a group has read a partition, committed in the transaction that answers what was read. */
export interface ConsumerOffset {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
  /** The next offset to read. */
  readonly offset: bigint;
}

export interface WriterOptions {
  /**
   * Resolves when there is proof, from after a moment, that this process still owns what the transactional id stands for;
   * rejects when it does not any more. Asked for before every attempt to open, since the last failure: opening without it
   * would fence the rightful owner. And asked for before a transaction begins and before it is committed, of the last
   * heartbeat's age: who has lost its partition, and was not told yet, hears of it before it writes and not by being
   * fenced. Left out where a single process needs no proof.
   */
  readonly ownershipProof?: OwnershipProof['since'];
  /**
   * How many fencings, since it was last asked, are known to have been an operator's; asked whenever the position was
   * read. Those do not count as another installation with the same ids.
   */
  readonly excused?: () => number;
  /**
   * Every partition that will be written to until the next opening, that of the position first; asked at each attempt
   * to open. With it, opening also ends what a killed coordinator has forgotten (kafkajs-hanging.ts).
   */
  readonly abortHanging?: () => readonly TopicPartition[];
  /** The consumer offset that it commits, where that is the position. */
  readonly abortHangingOffset?: Omit<ConsumerOffset, 'offset'>;
}
