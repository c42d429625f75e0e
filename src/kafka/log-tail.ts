import type { CommittedRecord } from './record.ts';

export interface FollowLog {
  readonly topic: string;
  /** Every one of them must exist. */
  readonly partitions: readonly number[];
  /** Skips the records that exist when following begins; otherwise all are given. */
  readonly onlyNew?: boolean;
  /** Called in offset order within each partition, each offset once. Its error ends the following and reaches the caller. */
  readonly onRecord: (record: CommittedRecord) => void;
  /**
   * Awaited after each handful of records: the next ones are fetched once it resolves, however long that takes. It must
   * resolve when the signal aborts, and never reject. When left out, reading never waits.
   */
  readonly room?: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Reads the committed records of topic-partitions from their beginning, and then stays on them. */
export interface LogTail {
  /**
   * Gives every record that exists, and then each further one within milliseconds of its commit. Aborted transactions
   * are left out, and an open one holds back the records behind it. It does not report that the end was reached: a
   * caller that must know reads the topic to its end as well.
   *
   * Failures do not end it: it tries again for ever, with a growing wait, and goes on where it was. One case is not
   * noticed: of a topic that is deleted and created again meanwhile, records below the offset reached are not given.
   *
   * @returns never; rejects with the signal's reason, what `onRecord` threw, or ConnectorError KAFKA_UNREACHABLE when the
   *   cluster was closed.
   */
  follow(request: FollowLog): Promise<never>;
}
