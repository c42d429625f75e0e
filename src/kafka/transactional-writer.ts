import type { OutgoingRecord } from './record.ts';

/**
 * A producer with one transactional id that cannot be misused: what it commits is whole, and after any failure it is
 * dead until it is opened again.
 */
export interface TransactionalWriter {
  /**
   * Fences every earlier holder of the transactional id, ends what they left open, and *then* reads the position that
   * the caller needs; the whole is tried again until it succeeds or its deadline passes. Any earlier state is dropped.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE when the deadline has passed, or the signal's reason when it aborts.
   */
  open<Position>(readPosition: (signal: AbortSignal) => Promise<Position>, signal: AbortSignal): Promise<Position>;
  /**
   * Writes all records in one transaction, in the given order within each partition; those of the last topic-partition
   * named (the offset record) are sent last. Resolves only when the transaction is committed.
   *
   * @throws ConnectorError TRANSACTION_FAILED or WRITER_FENCED: whether it was committed is unknown, the writer is dead,
   *   and only `open` tells which.
   */
  commit(records: readonly OutgoingRecord[]): Promise<void>;
  /** Lets a commit under way end, then disconnects. Safe to call more than once. */
  close(): Promise<void>;
}
