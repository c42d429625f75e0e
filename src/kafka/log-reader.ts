import type { CommittedRecord } from './record.ts';

export interface ReadToEnd {
  readonly topic: string;
  /** Every one of them must exist. */
  readonly partitions: readonly number[];
  /** Skips records that the broker appended before this moment, by its clock, as far as its index shows. */
  readonly sinceMs?: number;
  /** Only so many offsets at the end of each partition. */
  readonly newest?: number;
  /** Called in offset order within each partition, each offset once. Its error ends the reading and reaches the caller. */
  readonly onRecord: (record: CommittedRecord) => void;
  /** Awaited between handfuls of records, however long. It resolves when the signal aborts, and never rejects. */
  readonly room?: () => Promise<void>;
  /** Reads up to the high watermark: waits for open transactions, which can hide a newer offset. */
  readonly behindOpen?: boolean;
  readonly signal: AbortSignal;
}

export interface LogReader {
  /**
   * Reads committed records up to the end at the call: the last stable offset, or with `behindOpen` the high watermark. It
   * never ends early: a deadline fails, since silence is not an empty log.
   *
   * @throws ConnectorError KAFKA_UNREACHABLE, TRANSACTION_HANGS (`behindOpen` alone), or the signal's reason.
   */
  readToEnd(request: ReadToEnd): Promise<void>;
}

export interface FollowLog {
  readonly topic: string;
  readonly partitions: readonly number[];
  /** Skips the records that exist when following begins. */
  readonly onlyNew?: boolean;
  readonly onRecord: (record: CommittedRecord) => void;
  readonly room?: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface LogTail {
  /**
   * Gives every committed record that exists, and each further one within milliseconds of its commit. It does not report the
   * end. Failures do not end it: it tries again for ever, with a growing wait, and goes on where it was.
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
