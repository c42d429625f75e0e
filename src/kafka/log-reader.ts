import type { CommittedRecord } from './record.ts';

export interface ReadToEnd {
  readonly topic: string;
  /** Every one of them must exist. */
  readonly partitions: readonly number[];
  /**
   * Passes over what the broker appended before this moment, by its clock, as far as its index tells; from the beginning
   * when left out.
   */
  readonly sinceMs?: number;
  /** Passes over all but so many offsets at the end of each partition; over none when left out. */
  readonly newest?: number;
  /** Called in offset order within each partition, each offset once. What it throws ends the reading and is thrown on. */
  readonly onRecord: (record: CommittedRecord) => void;
  /**
   * Asked after each handful of records: the next ones are fetched once it resolves, however long that takes. It must
   * when the signal aborts, and never rejects. When left out, reading never waits.
   */
  readonly room?: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Reads the committed records of topic-partitions from their beginning (or a moment) to the end that they had when asked. */
export interface LogReader {
  /**
   * Resolves when every partition has been read up to the end it had at the call (its last stable offset), aborted and
   * open transactions left out. Ends early never: a deadline fails, it does not mean "nothing there". An open
   * transaction hides all that lies behind it, so a position may be read only where its one writer has just been opened.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE, or the signal's reason.
   */
  readToEnd(request: ReadToEnd): Promise<void>;
}
