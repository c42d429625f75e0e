import type { CommittedRecord } from './record.ts';

/** Reads the committed records of topic-partitions from their beginning to the end that they had when asked. */
export interface LogReader {
  /**
   * @returns when every partition has been read up to the end it had at the call, aborted and open transactions left
   *   out. Ends early never: a deadline fails, it does not mean "nothing there".
   * @throws ConnectorError KAFKA_UNREACHABLE, or the signal's reason.
   */
  readToEnd(options: {
    readonly topic: string;
    readonly partitions: readonly number[];
    readonly onRecord: (record: CommittedRecord) => void;
    readonly signal: AbortSignal;
  }): Promise<void>;
}
