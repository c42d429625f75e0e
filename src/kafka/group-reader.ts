import { untilAborted } from '../support/until-aborted.ts';
import type { CommittedRecord } from './record.ts';
import type { TopicPartition } from './topic.ts';

/** The result of one fetch from one partition. */
export interface ReadBatch {
  /** In offset order; empty if the fetch had only control records or aborted records. */
  readonly records: readonly CommittedRecord[];
  /** The first offset after all fetched records, also after control records and aborted records. */
  readonly nextOffset: bigint;
  /** The high watermark at the time of the fetch. */
  readonly endOffset: bigint;
}

/** Takes the records of one partition, from the assignment of the partition until its loss. */
export interface PartitionReader {
  /**
   * The first offset to read. Called at the start and after each rebalance that keeps the partition, when no batch is
   * in progress. The result is never below the `nextOffset` of a batch that was taken.
   */
  position(): bigint;
  /** The next batch of this partition comes after the promise resolves. Other partitions are read meanwhile. */
  take(batch: ReadBatch): Promise<void>;
}

export interface GroupReaderOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  /**
   * Called when the member gets a new partition. Reading begins when the promise resolves; other partitions do not
   * wait. The signal aborts when the partition is lost or the group reader ends. The group reader does not wait until
   * the work for a lost partition ends, because the next owner fences its writer. The writer needs `ownershipProof`.
   */
  readonly assigned: (
    partition: TopicPartition,
    signal: AbortSignal,
    ownershipProof: OwnershipProof['since'],
  ) => Promise<PartitionReader>;
  /** Called after each join, and at a head start (head-start.ts), with the member's partitions; perhaps none. */
  readonly joined?: (partitions: readonly TopicPartition[]) => void;
  /** Called with the number of members that share a rate limit: all after a join, later only those with partitions. */
  readonly members?: ((count: number) => void) | undefined;
  /** Default: round robin. */
  readonly assignor?: Assignor;
  /** The partitions of a head start (head-start.ts). Default: the assignor's result for a single member. */
  readonly alone?: readonly TopicPartition[];
  readonly signal: AbortSignal;
}

/** A member of a consumer group. The member commits no offsets: the partitions' writers do so in transactions. */
export interface GroupReader {
  /**
   * Joins the group and reads until the signal aborts. Leaves the group before it ends.
   * @returns never: rejects with the signal's reason, the error of `assigned` or `take`, or ConnectorError:
   *   KAFKA_UNREACHABLE if another run can succeed, WRITER_REFUSED or TOPIC_REFUSED if the member may not join or read.
   */
  run(options: GroupReaderOptions): Promise<never>;
}

export interface GroupMember {
  readonly id: string;
  /** The result of the member's `Assignor.describe`. Its format is not verified. */
  readonly description: string;
}

export interface Assignor {
  /** The broker refuses a member whose assignor has another name. */
  readonly name: string;
  /** Called at each join. If `wasForgotten` is true, other members perhaps own this member's partitions now. */
  describe(wasForgotten: boolean): string;
  /** Returns the partitions of each member, by member id. Called at each join by one member. Can omit partitions. */
  assign(members: readonly GroupMember[]): ReadonlyMap<string, readonly TopicPartition[]>;
}

/**
 * Proof that the group still counts this process as the owner of a partition. A disconnected member does not notice
 * that its partition has a new owner. Without the proof, the member's next writer would fence the new owner.
 */
export interface OwnershipProof {
  /** Called when the group confirms a request. `askedAtMs` is the monotonic time at which the request was sent. */
  confirm(askedAtMs: number): void;
  holdsSince(monotonicMs: number): boolean;
  /** Resolves when the group confirms a request that is newer than this time; rejects with the signal's reason. */
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
