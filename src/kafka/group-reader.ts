import { untilAborted } from '../support/until-aborted.ts';
import type { CommittedRecord } from './record.ts';
import type { TopicPartition } from './topic.ts';

/** The result of one fetch from one partition. */
export interface ReadBatch {
  /** In offset order; empty if the fetch had only control records or aborted records. */
  readonly records: readonly CommittedRecord[];
  /** The next offset to fetch. All fetched records have lower offsets, also control records and aborted records. */
  readonly nextOffset: bigint;
  /** The high watermark at the time of the fetch. */
  readonly endOffset: bigint;
}

/** Takes the records of one partition while the member owns the partition. */
export interface PartitionReader {
  /**
   * The first offset to read. Called when reading begins, and after each rebalance in which the member keeps the
   * partition. No batch is in progress at the call. The result is never below the `nextOffset` of a taken batch.
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
   * the work for a lost partition ends: the next owner fences this work's writer. Pass `ownershipProof` to each writer.
   */
  readonly assigned: (
    partition: TopicPartition,
    signal: AbortSignal,
    ownershipProof: OwnershipProof['since'],
  ) => Promise<PartitionReader>;
  /** Called with the member's partitions (perhaps none) after each join, and at a head start (head-start.ts). */
  readonly joined?: (partitions: readonly TopicPartition[]) => void;
  /** Called with the number of members that share a rate limit: at first all members, later those with partitions. */
  readonly members?: ((count: number) => void) | undefined;
  /** Default: round robin. */
  readonly assignor?: Assignor;
  /** The partitions of a head start (head-start.ts). Default: the assignor's result for a single member. */
  readonly alone?: readonly TopicPartition[];
  readonly signal: AbortSignal;
}

/** A member of a consumer group. It does not commit offsets: each partition's writer commits them in transactions. */
export interface GroupReader {
  /**
   * Joins the group and reads until the signal aborts. Leaves the group before the call ends.
   * @returns never: rejects with the signal's reason, the error of `assigned` or `take`, or ConnectorError:
   *   KAFKA_UNREACHABLE or TOPIC_DELETED if another run can succeed, WRITER_REFUSED or TOPIC_REFUSED if an ACL is missing.
   */
  run(options: GroupReaderOptions): Promise<never>;
}

export interface GroupMember {
  readonly id: string;
  /** The result of the member's `Assignor.describe`. Its format is not verified. */
  readonly description: string;
}

export interface Assignor {
  /** All members of a group use the same name. The broker refuses a member whose assignor has another name. */
  readonly name: string;
  /** Called at each join. If `wasForgotten` is true, other members perhaps own this member's partitions now. */
  describe(wasForgotten: boolean): string;
  /** The partitions by member id. After each join, one member calls this function. The result can omit partitions. */
  assign(members: readonly GroupMember[]): ReadonlyMap<string, readonly TopicPartition[]>;
}

/**
 * Proof that the group still counts this process as the owner of a partition. A disconnected member does not notice
 * that its partition has a new owner. Without the proof, the member's next writer would fence the new owner's writer.
 */
export interface OwnershipProof {
  /** Called after each response in which the group confirms the member. `askedAtMs`: the monotonic time of the request. */
  confirm(askedAtMs: number): void;
  holdsSince(monotonicMs: number): boolean;
  /** Resolves after a call of `confirm` with a time later than `monotonicMs`. Rejects with the signal's reason. */
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
