import type { StallWatch } from '../support/deadline.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { CommittedRecord } from './record.ts';

/** Its cause is what `onRecord` threw, which reaches the caller unchanged. */
export class ReadRefused extends Error {}

interface LogReading {
  readonly client: LogClient;
  /** The next offset of each partition; moved forward here. A partition that is deleted from it is read no further. */
  readonly positions: Map<number, bigint>;
  /** How long a fetch waits for data. */
  readonly waitMs: number;
  readonly onRecord: (record: CommittedRecord) => void;
  /** Awaited after each part of a fetch with records: the next ones are fetched when it resolves. */
  readonly room?: (() => Promise<void>) | undefined;
  /** Called for each answered fetch, with or without records, after all its records were given. */
  readonly onFetched: () => void;
  readonly stalled: StallWatch;
  readonly signal: AbortSignal;
}

/**
 * Reads on until no position is left. The leaders are asked side by side, so that none waits for another one. A failure
 * at one of them ends all; then every position is behind the records that were given.
 *
 * @throws ReadRefused, the signal's reason, or what the client throws.
 */
export async function readOn(reading: LogReading): Promise<void> {
  const { client, positions, waitMs, onFetched, stalled } = reading;
  const ended = new AbortController();
  const signal = AbortSignal.any([reading.signal, ended.signal]);
  const readLed = async (leader: number, partitions: readonly number[]) => {
    for (;;) {
      signal.throwIfAborted();
      const from = new Map([...positions].filter(([partition]) => partitions.includes(partition)));
      if (from.size === 0) return;
      const parts = await untilAborted(client.fetch(leader, from, waitMs), signal);
      stalled.moved();
      for (const part of parts) await give(reading, part, signal);
      onFetched();
    }
  };
  const leaders = [...client.byLeader([...positions.keys()])];
  await Promise.all(
    leaders.map(([leader, partitions]) =>
      readLed(leader, partitions).catch((error: unknown) => {
        ended.abort(error);
        throw error;
      }),
    ),
  );
}

async function give(
  { positions, onRecord, room, stalled }: LogReading,
  { partition, records, nextOffset }: FetchedPart,
  signal: AbortSignal,
): Promise<void> {
  for (const record of records) {
    signal.throwIfAborted();
    positions.set(partition, record.offset + 1n);
    try {
      onRecord(record);
    } catch (cause) {
      throw new ReadRefused('onRecord threw', { cause });
    }
  }
  positions.set(partition, nextOffset);
  if (room !== undefined && records.length > 0) await untilAborted(stalled.whileHeld(room()), signal);
}

/** The result of one fetch for one partition. */
export interface FetchedPart {
  readonly partition: number;
  /** Committed ones, in offset order, from the requested offset on. */
  readonly records: readonly CommittedRecord[];
  /** Where the next fetch goes on: also behind control records, aborted records and gaps of compaction. */
  readonly nextOffset: bigint;
}

/** Where a partition begins and ends; see `OpenLogClient` for the end. */
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

/** The end of a partition is its last stable offset, or with `behindOpen` its high watermark. */
export type OpenLogClient = (topic: string, behindOpen?: boolean) => LogClient;
