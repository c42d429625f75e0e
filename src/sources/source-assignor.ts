import type { Assignor, GroupMember } from '../kafka/group-reader.ts';
import { offsetPartition } from '../kafka/offset-store.ts';

/** Assigns the partitions of the offsets topic, and so the sources, to the members of the consumer group. */
export function sourceAssignor(topic: string, describe: Assignor['describe']): Assignor {
  return {
    name: 'sources',
    describe,
    assign(members) {
      const assigned = assignPartitions(members.map(readReplica), offsetPartition);
      return new Map([...assigned].map(([id, held]) => [id, held.map((partition) => ({ topic, partition }))]));
    },
  };
}

/** A replica's description of itself for the group: its sources' offset keys, and the partitions that it held last. */
export interface Replica {
  readonly id: string;
  readonly sources: readonly string[];
  readonly held: readonly number[];
}

export function describeReplica({ sources, held }: Omit<Replica, 'id'>): string {
  return JSON.stringify({ sources, held });
}

/** A member with an unreadable description gets no partition: it may run another version. Exported for tests. */
export function readReplica({ id, description }: GroupMember): Replica {
  try {
    const { sources, held } = JSON.parse(description) as { sources: unknown; held: unknown };
    return {
      id,
      sources: Array.isArray(sources) ? sources.filter((key) => typeof key === 'string') : [],
      held: Array.isArray(held) ? held.filter((partition) => Number.isSafeInteger(partition)) : [],
    };
  } catch {
    return { id, sources: [], held: [] };
  }
}

/**
 * Assigns each partition to one replica. Replicas have different settings during a rolling deployment. So only the
 * replicas whose settings have the most sources of the partition can own the partition. A new owner repeats requests.
 * So a partition moves only if another replica has at least two partitions fewer than the owner. Exported for tests.
 *
 * @param partitionOf returns the partition of a source's key
 */
export function assignPartitions(
  replicas: readonly Replica[],
  partitionOf: (source: string) => number,
): ReadonlyMap<string, readonly number[]> {
  const inOrder = replicas.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const shares = new Map(inOrder.map(({ id }) => [id, new Set<number>()]));
  const candidates = candidatesByPartition(inOrder, partitionOf);
  const size = (id: string) => shares.get(id)?.size ?? 0;
  const smallest = (ids: readonly string[]) => ids.toSorted((a, b) => size(a) - size(b))[0];
  const partitions = [...candidates.keys()].sort((a, b) => a - b);
  const holderOf = (partition: number) =>
    inOrder.find(({ id, held }) => held.includes(partition) && candidates.get(partition)?.includes(id))?.id;

  for (const partition of partitions) shares.get(holderOf(partition) ?? '')?.add(partition);
  for (const partition of partitions.filter((open) => holderOf(open) === undefined)) {
    shares.get(smallest(candidates.get(partition) ?? []) ?? '')?.add(partition);
  }
  // After as many rounds as there are partitions, no move makes the shares more equal.
  for (const partition of partitions.flatMap(() => partitions)) {
    const owner = inOrder.find(({ id }) => shares.get(id)?.has(partition))?.id;
    const nextOwner = smallest(candidates.get(partition) ?? []);
    if (owner === undefined || nextOwner === undefined || size(owner) - size(nextOwner) < 2) continue;
    shares.get(owner)?.delete(partition);
    shares.get(nextOwner)?.add(partition);
  }
  return new Map([...shares].map(([id, held]) => [id, [...held].sort((a, b) => a - b)]));
}

/** Maps each partition to the replicas whose settings have the largest number of the partition's sources. */
function candidatesByPartition(
  replicas: readonly Replica[],
  partitionOf: (source: string) => number,
): ReadonlyMap<number, readonly string[]> {
  const known = replicas.flatMap(({ id, sources }) =>
    [...new Set(sources)].map((source) => ({ id, partition: partitionOf(source) })),
  );
  const byPartition = Map.groupBy(known, ({ partition }) => partition);
  return new Map(
    [...byPartition].map(([partition, all]) => {
      const byReplica = [...Map.groupBy(all, ({ id }) => id)];
      const most = Math.max(...byReplica.map(([, sources]) => sources.length));
      return [partition, byReplica.filter(([, sources]) => sources.length === most).map(([id]) => id)];
    }),
  );
}
