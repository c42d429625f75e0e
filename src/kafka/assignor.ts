import type { TopicPartition } from './topic.ts';

/** A member of a group, as the one that assigns the partitions sees it. */
export interface GroupMember {
  readonly id: string;
  /** What the member tells of itself, as `Assignor.describe` gave it there; of an unknown form. */
  readonly description: string;
}

/** Assigns the partitions of a group to its members. */
export interface Assignor {
  /** The same in all members of a group; a member with another one is refused by the broker. */
  readonly name: string;
  /**
   * What the others shall know of this member; asked at each join. `wasForgotten`: the group has not heard from it for so
   * long that what it held is with others by now.
   */
  describe(wasForgotten: boolean): string;
  /** Who gets what, by the members' ids; asked of one of them at each join. Partitions may be left out. */
  assign(members: readonly GroupMember[]): ReadonlyMap<string, readonly TopicPartition[]>;
}
