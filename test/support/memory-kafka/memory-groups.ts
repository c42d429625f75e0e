import type { Assignor } from '../../../src/kafka/group-reader.ts';
import type { TopicPartition } from '../../../src/kafka/topic.ts';

/** What a member of a group has reported to it. */
export interface GroupMembership {
  readonly topics: readonly string[];
  readonly assignor?: Assignor | undefined;
  readonly joined: (partitions: readonly TopicPartition[]) => void;
  readonly members: (count: number) => void;
}

/**
 * Consumer groups as a coordinator sees them: each partition of the topics has one member, in turns. Whenever a member
 * joins or leaves, all of them join again.
 */
export class MemoryGroups {
  readonly #partitionsOf: (topic: string) => number;
  readonly #groups = new Map<string, GroupMembership[]>();

  constructor(partitionsOf: (topic: string) => number) {
    this.#partitionsOf = partitionsOf;
  }

  /** @returns how to leave. */
  join(groupId: string, member: GroupMembership): () => void {
    this.#groups.set(groupId, [...(this.#groups.get(groupId) ?? []), member]);
    this.rebalance(groupId);
    return () => this.#remove(groupId, member);
  }

  /** False for one that was forgotten and does not know it. */
  isMember(groupId: string, member: GroupMembership): boolean {
    return this.#groups.get(groupId)?.includes(member) ?? false;
  }

  members(groupId: string): readonly { readonly host: string; readonly partitions: readonly TopicPartition[] }[] {
    const members = this.#groups.get(groupId) ?? [];
    const shares = this.#share(members);
    return members.map((_, index) => ({ host: `memory-${index}`, partitions: shares.get(String(index)) ?? [] }));
  }

  /** Each member's partitions go to the next member, as often as `shift` says; with 0, all join again as they were. */
  rebalance(groupId: string, shift = 0): void {
    const members = this.#groups.get(groupId) ?? [];
    const turned = members.map((_, index) => members[(index + shift) % members.length]).filter((m) => m !== undefined);
    this.#groups.set(groupId, turned);
    const shares = this.#share(turned);
    for (const [index, member] of turned.entries()) {
      member.joined(shares.get(String(index)) ?? []);
      member.members(turned.length);
    }
  }

  /** Gives the partitions of the member that was first to the others and does not inform it, as when it stalls. */
  forgetFirst(groupId: string): void {
    const first = this.#groups.get(groupId)?.[0];
    if (first) this.#remove(groupId, first);
  }

  /** The members' ids are their places. */
  #share(members: readonly GroupMembership[]): ReadonlyMap<string, readonly TopicPartition[]> {
    const assignor = members[0]?.assignor;
    if (assignor) {
      const described = members.map((member, index) => ({
        id: String(index),
        description: member.assignor?.describe(false) ?? '',
      }));
      return assignor.assign(described);
    }
    const all = (members[0]?.topics ?? []).flatMap((topic) =>
      Array.from({ length: this.#partitionsOf(topic) }, (_, partition) => ({ topic, partition })),
    );
    return Map.groupBy(all, (partition) => String(all.indexOf(partition) % members.length));
  }

  #remove(groupId: string, member: GroupMembership): void {
    const before = this.#groups.get(groupId) ?? [];
    if (!before.includes(member)) return;
    this.#groups.set(
      groupId,
      before.filter((other) => other !== member),
    );
    this.rebalance(groupId);
  }
}
