import type { TopicPartition } from './topic.ts';

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
