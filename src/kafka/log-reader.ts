import type { CommittedRecord } from './record.ts';

export interface ReadToEnd {
  readonly topic: string;
  /** Every one of them must exist. */
  readonly partitions: readonly number[];
  /**
   * Skips records that the broker appended before this moment, by its clock, as far as its index shows; from the
   * beginning when left out.
   */
  readonly sinceMs?: number;
  /** Reads only this many offsets at the end of each partition; all when left out. */
  readonly newest?: number;
  /** Called in offset order within each partition, each offset once. Its error ends the reading and reaches the caller. */
  readonly onRecord: (record: CommittedRecord) => void;
  /**
   * Awaited after each handful of records: the next ones are fetched once it resolves, however long that takes. It must
   * resolve when the signal aborts, and never reject. When left out, reading never waits.
   */
  readonly room?: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Reads the committed records of topic-partitions from their beginning (or a moment) to the end that they had when asked. */
export interface LogReader {
  /**
   * Resolves when every partition has been read up to the end it had at the call (its last stable offset), aborted and
   * open transactions left out. It never ends early: a deadline fails, since silence is not an empty log. An open
   * transaction hides all that lies behind it, so a position may be read only where its one writer has just been opened.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE, or the signal's reason.
   */
  readToEnd(request: ReadToEnd): Promise<void>;
}
