import { untilAborted } from '../support/until-aborted.ts';
import type { CommittedRecord } from './record.ts';
import type { TopicPartition } from './topic.ts';

/** The records of a partition from one fetch. */
export interface ReadBatch {
  /** In offset order, at or behind the position; may be empty where only control records or aborted ones lay. */
  readonly records: readonly CommittedRecord[];
  /** The next offset to read: behind everything that this fetch covered. */
  readonly nextOffset: bigint;
  /** The end of the log (the high watermark) at the time of the fetch; the difference to `nextOffset` is the lag. */
  readonly endOffset: bigint;
}

/** The reader of one partition, from the assignment until it is lost. */
export interface PartitionReader {
  /**
   * The first offset to read. Asked once at the beginning, and again after each rebalance that leaves the partition here,
   * when the batch under way has been taken; never smaller than the `nextOffset` of a batch that was taken.
   */
  position(): bigint;
  /**
   * Takes a batch. The next one of this partition comes when the promise has resolved; other partitions go on meanwhile.
   * A promise that stays pending for longer than some milliseconds delays the next batch by up to a third of a second.
   */
  take(batch: ReadBatch): Promise<void>;
}

export interface GroupReaderOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  /**
   * A partition is newly ours: fence its writer, read its committed offset, fill its table. Reading begins when it
   * resolves; other partitions do not wait for it. The signal aborts when the partition is lost or the reader ends.
   * Work that is then still under way is not awaited, so only the fence protects against its writes.
   *
   * `ownershipProof` is the proof that a writer needs before it writes: the group is asked several times a second. It rejects
   * once the partition is lost.
   */
  readonly assigned: (
    partition: TopicPartition,
    signal: AbortSignal,
    ownershipProof: OwnershipProof['since'],
  ) => Promise<PartitionReader>;
  /** The member has joined (again) with these partitions, perhaps none; or goes ahead with them (head-start.ts). */
  readonly joined?: (partitions: readonly TopicPartition[]) => void;
  /**
   * Among how many members a limit of all of them is to be divided: all members after each join, as
   * soon as the group has answered; some time later those that own partitions. Until the first response nothing is said.
   */
  readonly members?: ((count: number) => void) | undefined;
  /** How the partitions are assigned to the members. Round robin when left out. */
  readonly assignor?: Assignor;
  /**
   * What a member is given that has no others beside it: taken before the join is answered, where the group is empty
   * (head-start.ts). What the assignor gives alone when left out; without an assignor either, nothing is taken before.
   */
  readonly alone?: readonly TopicPartition[];
  readonly signal: AbortSignal;
}

/** A member of a consumer group that commits no offset itself: each partition's writer does, in its transactions. */
export interface GroupReader {
  /**
   * Joins and reads until the signal aborts; leaves the group before it ends.
   *
   * @returns never: rejects with the signal's reason, with what `assigned` or `take` threw, or with ConnectorError
   *   KAFKA_UNREACHABLE when the member could not go on and another run is worth trying, WRITER_REFUSED or TOPIC_REFUSED
   *   when it may not be a member of the group, or not read.
   */
  run(options: GroupReaderOptions): Promise<never>;
}

/** A member of a group, as the one that assigns the partitions sees it. */
export interface GroupMember {
  readonly id: string;
  /** What the member reports of itself: the result of its `Assignor.describe`, of an unknown form. */
  readonly description: string;
}

/** Assigns the partitions of a group to its members. */
export interface Assignor {
  /** The same in all members of a group; the broker refuses a member with another name. */
  readonly name: string;
  /**
   * What this member reports to the others; called at each join. `wasForgotten`: the group has not heard from it for so
   * long that other members have its partitions by now.
   */
  describe(wasForgotten: boolean): string;
  /** The partitions of each member, by its id; called in one member at each join. Partitions may be left out. */
  assign(members: readonly GroupMember[]): ReadonlyMap<string, readonly TopicPartition[]>;
}

/**
 * When the group last confirmed that a member owns its partitions. A member that was cut off sees only network errors; by
 * opening a writer after these it would fence the rightful owner.
 */
export interface OwnershipProof {
  /** The group confirmed a request that was sent at this moment of the monotonic clock. */
  confirm(askedAtMs: number): void;
  holdsSince(monotonicMs: number): boolean;
  /** Resolves when the group has confirmed since that moment; rejects with the signal's reason, as after a loss. */
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
