import type { TopicPartition } from '../kafka/topic.ts';
import type { Clock } from '../support/clock.ts';
import type { PartitionTable } from './read-table.ts';

/*
 * After a kill, a broker answers the join of the next process only when the session of the killed one has ended. A process
 * that waits for longer than living members take reads the tables of all partitions meanwhile, so that those which it is
 * given are there. A table holds what lies below the committed offset, which is asked for again once the partition is
 * owned: where another member has gone on, the table is not used.
 */

/** Living members join again with their next heartbeat, which is a second away at most. */
const LIVING_JOIN_MS = 2_000;
/** As many as are read at a time when partitions are assigned. */
const READ_AT_ONCE = 2;
/** Tables of partitions that went to other members are dropped so long after the join. */
const KEPT_MS = 60_000;

export interface TablesAheadOptions {
  /** All that this member would get without others. */
  readonly partitions: readonly TopicPartition[];
  readonly committedOffset: (partition: TopicPartition, signal: AbortSignal) => Promise<bigint | null>;
  /** Reads the table of the records below this offset. */
  readonly read: (partition: TopicPartition, offset: bigint, signal: AbortSignal) => Promise<PartitionTable>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface Entry {
  readonly offset: bigint;
  /** Null when it could not be read. */
  readonly table: Promise<PartitionTable | null>;
}

/** The tables that a member reads while its first join waits for members that do not answer. */
export class TablesAhead {
  readonly #options: TablesAheadOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #joined = new AbortController();
  #isBegun = false;

  constructor(options: TablesAheadOptions) {
    this.#options = options;
  }

  /** The first join begins; later calls change nothing. What cannot be read is read again by its owner, which reports it. */
  joins(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    const { partitions, clock, signal } = this.#options;
    const waiting = partitions.values();
    const readNext = async () => {
      for (const partition of waiting) {
        if (this.#joined.signal.aborted) return;
        await this.#read(partition);
      }
    };
    clock
      .sleep(LIVING_JOIN_MS, AbortSignal.any([signal, this.#joined.signal]))
      .then(() => Promise.all(Array.from({ length: READ_AT_ONCE }, readNext)))
      .catch(() => {});
  }

  /** The join is answered: no further table is begun. */
  joined(): void {
    if (this.#joined.signal.aborted) return;
    const { clock, signal } = this.#options;
    this.#joined.abort();
    clock.sleep(KEPT_MS, signal).then(
      () => this.#entries.clear(),
      () => {},
    );
  }

  /** The table of a partition up to its committed offset, at the first call only. Null where there is none. */
  async take({ topic, partition }: TopicPartition, offset: bigint): Promise<PartitionTable | null> {
    const key = `${topic}-${partition}`;
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    return entry?.offset === offset ? entry.table : null;
  }

  async #read(partition: TopicPartition): Promise<void> {
    const { committedOffset, read, signal } = this.#options;
    const offset = await committedOffset(partition, signal);
    if (offset === null || this.#joined.signal.aborted) return;
    const table = read(partition, offset, signal).catch(() => null);
    this.#entries.set(`${partition.topic}-${partition.partition}`, { offset, table });
    await table;
  }
}
