import type { CommittedRecord } from './record.ts';

export interface ReadToEnd {
  readonly topic: string;
  /** Each of these partitions must exist. */
  readonly partitions: readonly number[];
  /** Begins at the first record that the broker appended at this time or later: ms since 1970, by the broker's clock. */
  readonly sinceMs?: number;
  /** Reads only this number of offsets at the end of each partition. */
  readonly newest?: number;
  /** Called in offset order within each partition, once for each offset. An error ends the reading and is thrown. */
  readonly onRecord: (record: CommittedRecord) => void;
  /** Awaited after each batch, until the caller has room for more. Must resolve when the signal aborts; must not reject. */
  readonly room?: () => Promise<void>;
  /** True: reads up to the high watermark. Open transactions can hide newer records, so the reading waits until they end. */
  readonly toHighWatermark?: boolean;
  readonly signal: AbortSignal;
}

export interface LogReader {
  /**
   * Reads committed records up to the end at the time of the call: the last stable offset, or with `toHighWatermark` the
   * high watermark. Never ends early. A timeout is an error, because a timeout does not prove that the end was reached.
   * @throws ConnectorError KAFKA_UNREACHABLE, TOPIC_DELETED, TRANSACTION_HANGS (only with `toHighWatermark`), or the signal's reason.
   */
  readToEnd(request: ReadToEnd): Promise<void>;
}

export interface FollowLog {
  readonly topic: string;
  readonly partitions: readonly number[];
  /** Skips the records that exist at the start. */
  readonly onlyNew?: boolean;
  readonly onRecord: (record: CommittedRecord) => void;
  readonly room?: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface LogTail {
  /**
   * Delivers every existing committed record, then each new record within milliseconds of its commit. Does not report
   * where the new records begin. After each failure, waits (each time longer), then continues at the same offset.
   * @returns never; rejects with the signal's reason, the error of `onRecord`, or ConnectorError: KAFKA_UNREACHABLE if
   *   the `KafkaCluster` is closed, or if the first request with `onlyNew` fails.
   */
  follow(request: FollowLog): Promise<never>;
}

/** Distinguishes new records from repeated records when a log is read again. */
export class FreshRecords {
  readonly #nextOffsets = new Map<number, bigint>();

  skipTo(partition: number, nextOffset: bigint): void {
    this.#nextOffsets.set(partition, nextOffset);
  }

  isFresh({ partition, offset }: Pick<CommittedRecord, 'partition' | 'offset'>): boolean {
    if (offset < (this.#nextOffsets.get(partition) ?? 0n)) return false;
    this.#nextOffsets.set(partition, offset + 1n);
    return true;
  }
}
