import type { CommittedRecord } from './record.ts';

/** The result of one fetch for one partition. */
export interface FetchedPart {
  readonly partition: number;
  /** Committed ones, in offset order, from the requested offset on. */
  readonly records: readonly CommittedRecord[];
  /** Where the next fetch goes on: also behind control records, aborted records and gaps of compaction. */
  readonly nextOffset: bigint;
}

/** Where a partition begins and ends; the end is its last stable offset. */
export interface Bounds {
  readonly low: bigint;
  readonly high: bigint;
}

/** One connection to the brokers for reading one topic. After any failure it is closed, and another one is opened. */
export interface LogClient {
  /** Connects, and learns which broker leads which partition. To be called first, and once. */
  connect(): Promise<void>;
  /** These partitions by the broker that leads them; throws when the topic lacks one. */
  byLeader(partitions: readonly number[]): ReadonlyMap<number, readonly number[]>;
  /** `low` is the first offset appended at `sinceMs` or later, by the broker's clock, where that is given. */
  bounds(partitions: readonly number[], sinceMs: number | undefined): Promise<ReadonlyMap<number, Bounds>>;
  /** Records from these offsets on, by partition, up to the last stable offset; waits up to `waitMs` for some. */
  fetch(leader: number, from: ReadonlyMap<number, bigint>, waitMs: number): Promise<readonly FetchedPart[]>;
  /** Resolves when the connections are closed, or given up after a while; never rejects. */
  close(): Promise<void>;
}

export type OpenLogClient = (topic: string) => LogClient;
