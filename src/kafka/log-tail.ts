import type { CommittedRecord } from './record.ts';

export interface FollowLog {
  readonly topic: string;
  /** Every one of them must exist. */
  readonly partitions: readonly number[];
  /** Passes over what is there when the following begins; without it, everything is given. */
  readonly onlyNew?: boolean;
  /** Called in offset order within each partition, each offset once. What it throws ends the following and is thrown on. */
  readonly onRecord: (record: CommittedRecord) => void;
  /**
   * Asked after each handful of records: the next ones are fetched once it resolves, however long that takes. It must
   * when the signal aborts, and never rejects. When left out, reading never waits.
   */
  readonly room?: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Reads the committed records of topic-partitions from their beginning, and then stays on them. */
export interface LogTail {
  /**
   * Gives every record that is there, and then each further one within milliseconds of its commit; aborted transactions
   * are left out, and an open one holds back what lies behind it. It never tells that the end was reached: whoever must
   * know that reads the topic to its end beside it.
   *
   * Trouble ends nothing: the topic is tried again for ever, with a growing wait, and goes on where it was. Only a topic
   * that is deleted and created anew meanwhile is not noticed: what lies below the offset reached is not given.
   *
   * @returns never; rejects with the signal's reason, what `onRecord` threw, or ConnectorError KAFKA_UNREACHABLE when the
   *   cluster was closed.
   */
  follow(request: FollowLog): Promise<never>;
}
