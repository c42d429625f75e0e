import type { TopicPartition } from './group-reader.ts';

interface Member {
  readonly topics: readonly string[];
  readonly joined: (partitions: readonly TopicPartition[]) => void;
}

/**
 * Consumer groups as a coordinator sees them: each partition of the topics has one member, in turns. Whenever a member
 * joins or leaves, all of them join anew.
 */
export class MemoryGroups {
  readonly #partitionsOf: (topic: string) => number;
  readonly #groups = new Map<string, Member[]>();

  constructor(partitionsOf: (topic: string) => number) {
    this.#partitionsOf = partitionsOf;
  }

  /** @returns how to leave. */
  join(groupId: string, member: Member): () => void {
    this.#groups.set(groupId, [...(this.#groups.get(groupId) ?? []), member]);
    this.rebalance(groupId);
    return () => this.#remove(groupId, member);
  }

  /** Each member's partitions go to the next member, as often as `shift` says; with 0, all join again as they were. */
  rebalance(groupId: string, shift = 0): void {
    const members = this.#groups.get(groupId) ?? [];
    const turned = members.map((_, index) => members[(index + shift) % members.length]).filter((m) => m !== undefined);
    this.#groups.set(groupId, turned);
    for (const [index, member] of turned.entries()) {
      const all = member.topics.flatMap((topic) =>
        Array.from({ length: this.#partitionsOf(topic) }, (_, partition) => ({ topic, partition })),
      );
      member.joined(all.filter((_, position) => position % turned.length === index));
    }
  }

  /** Gives the partitions of the member that was first to the others and does not tell it, as when it stalls. */
  forgetFirst(groupId: string): void {
    const first = this.#groups.get(groupId)?.[0];
    if (first) this.#remove(groupId, first);
  }

  #remove(groupId: string, member: Member): void {
    const before = this.#groups.get(groupId) ?? [];
    if (!before.includes(member)) return;
    this.#groups.set(
      groupId,
      before.filter((other) => other !== member),
    );
    this.rebalance(groupId);
  }
}
