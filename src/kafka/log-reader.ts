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
  /** Reads up to the high watermark, and so waits until open transactions, which can hide a newer offset, have ended. */
  readonly behindOpen?: boolean;
  readonly signal: AbortSignal;
}

/** Reads the committed records of topic-partitions from their beginning (or a moment) to the end that they had when asked. */
export interface LogReader {
  /**
   * Resolves when every partition has been read up to the end it had at the call: its last stable offset, or with
   * `behindOpen` its high watermark. It never ends early: a deadline fails, since silence is not an empty log.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE, TRANSACTION_HANGS (`behindOpen` alone), or the signal's reason.
   */
  readToEnd(request: ReadToEnd): Promise<void>;
}

export interface FollowLog {
  readonly topic: string;
  /** Every one of them must exist. */
  readonly partitions: readonly number[];
  /** Skips the records that exist when following begins; otherwise all are given. */
  readonly onlyNew?: boolean;
  /** Called in offset order within each partition, each offset once. Its error ends the following and reaches the caller. */
  readonly onRecord: (record: CommittedRecord) => void;
  /** As in `ReadToEnd`. */
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

/** Separates new records from repeated ones when a log is read again. */
export class FreshRecords {
  readonly #nextOffsets = new Map<number, bigint>();

  passOver(partition: number, nextOffset: bigint): void {
    this.#nextOffsets.set(partition, nextOffset);
  }

  isFresh({ partition, offset }: Pick<CommittedRecord, 'partition' | 'offset'>): boolean {
    if (offset < (this.#nextOffsets.get(partition) ?? 0n)) return false;
    this.#nextOffsets.set(partition, offset + 1n);
    return true;
  }
}
