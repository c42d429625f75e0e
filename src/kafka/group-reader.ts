import { untilAborted } from '../support/until-aborted.ts';
import type { CommittedRecord } from './record.ts';
import type { TopicPartition } from './topic.ts';

export interface ReadBatch {
  /** In offset order; may be empty, behind control records or aborted ones. */
  readonly records: readonly CommittedRecord[];
  /** Behind everything that this fetch covered. */
  readonly nextOffset: bigint;
  /** The high watermark at the time of the fetch. */
  readonly endOffset: bigint;
}

/** The reader of one partition, from the assignment until it is lost. */
export interface PartitionReader {
  /**
   * The first offset to read: at the beginning, and after each rebalance that leaves the partition here, when the batch under
   * way was taken. Never below the `nextOffset` of a batch that was taken.
   */
  position(): bigint;
  /** The next batch of this partition comes when the promise has resolved; other partitions go on meanwhile. */
  take(batch: ReadBatch): Promise<void>;
}

export interface GroupReaderOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  /**
   * A partition is newly ours. Reading begins when it resolves; other partitions do not wait for it. The signal aborts when
   * the partition is lost or the reader ends. Work under way is not awaited then: only the fence protects against its writes.
   * `ownershipProof` is the proof that its writer needs.
   */
  readonly assigned: (
    partition: TopicPartition,
    signal: AbortSignal,
    ownershipProof: OwnershipProof['since'],
  ) => Promise<PartitionReader>;
  /** It has joined (again) with these partitions, perhaps none; or goes ahead with them (head-start.ts). */
  readonly joined?: (partitions: readonly TopicPartition[]) => void;
  /** So many members divide a limit: after a join all of them, some time later those that own partitions. */
  readonly members?: ((count: number) => void) | undefined;
  /** Round robin when left out. */
  readonly assignor?: Assignor;
  /** Taken ahead where the group is empty (head-start.ts): what the assignor gives a single member, when left out. */
  readonly alone?: readonly TopicPartition[];
  readonly signal: AbortSignal;
}

/** A member of a consumer group that commits no offset itself: each partition's writer does, in its transactions. */
export interface GroupReader {
  /**
   * Joins and reads until the signal aborts; leaves the group before it ends.
   *
   * @returns never: rejects with the signal's reason, what `assigned` or `take` threw, or ConnectorError KAFKA_UNREACHABLE when
   *   another run is worth trying, WRITER_REFUSED or TOPIC_REFUSED when it may not join or read.
   */
  run(options: GroupReaderOptions): Promise<never>;
}

export interface GroupMember {
  readonly id: string;
  /** The result of its `Assignor.describe`, of an unknown form. */
  readonly description: string;
}

export interface Assignor {
  /** The broker refuses a member with another name. */
  readonly name: string;
  /** Called at each join. `wasForgotten`: other members have its partitions by now. */
  describe(wasForgotten: boolean): string;
  /** By the member's id; called in one member at each join. Partitions may be left out. */
  assign(members: readonly GroupMember[]): ReadonlyMap<string, readonly TopicPartition[]>;
}

/** A member that was cut off sees only network errors; opening a writer after these, it would fence the rightful owner. */
export interface OwnershipProof {
  /** The group confirmed a request that was sent at this moment of the monotonic clock. */
  confirm(askedAtMs: number): void;
  holdsSince(monotonicMs: number): boolean;
  /** Resolves when the group has confirmed since that moment; rejects with the signal's reason. */
  since(monotonicMs: number, signal: AbortSignal): Promise<void>;
}

export function createOwnershipProof(): OwnershipProof {
  let confirmedMs = Number.NEGATIVE_INFINITY;
  let next = Promise.withResolvers<void>();
  return {
    confirm(askedAtMs) {
      if (askedAtMs <= confirmedMs) return;
      confirmedMs = askedAtMs;
      next.resolve();
      next = Promise.withResolvers();
    },
    holdsSince: (monotonicMs) => confirmedMs > monotonicMs,
    async since(monotonicMs, signal) {
      while (confirmedMs <= monotonicMs) await untilAborted(next.promise, signal);
    },
  };
}
