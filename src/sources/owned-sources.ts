import type { GroupReader } from '../kafka/group-reader.ts';
import { offsetPartition } from '../kafka/offset-store.ts';
import type { Events } from '../observe/events.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { type OwnedPartition, runMember } from '../worker/membership.ts';
import type { Source as ConfiguredSource } from './offset-partition.ts';
import { describeReplica, sourceAssignor } from './source-assignor.ts';

type Owned = Pick<ConfiguredSource, 'name' | 'offsetKey'>;

/** A partition of the offsets topic, while it is ours. */
export interface OwnedSources<Source> extends Omit<OwnedPartition, 'partition'> {
  readonly partition: number;
  readonly sources: readonly Source[];
}

export interface OwnedSourcesOptions<Source> {
  readonly sources: readonly Source[];
  readonly groupReader: GroupReader;
  readonly groupId: string;
  /** Called with the number of replicas, whenever it has changed. */
  readonly replicas?: (count: number) => void;
  readonly offsetsTopic: string;
  /** Gives the names of the failed sources, when none is left. */
  readonly run: (owned: OwnedSources<Source>) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Pick<Events, 'attemptFailed' | 'replicaJoined'>;
  readonly signal: AbortSignal;
}

/**
 * All replicas are members of one group over the offsets topic; the owner of a partition runs its sources. Nothing is
 * read by way of the group.
 *
 * @returns the names of the sources, when all have failed here; rejects with the signal's reason, or with an error that
 *   a partition cannot survive.
 */
export async function runOwnedSources<Source extends Owned>(
  options: OwnedSourcesOptions<Source>,
): Promise<readonly string[]> {
  const { groupReader, groupId, offsetsTopic, replicas, clock, random, events } = options;
  const byPartition = Map.groupBy(options.sources, ({ offsetKey }) => offsetPartition(offsetKey));
  const keys = options.sources.map(({ offsetKey }) => offsetKey);
  const failed = new Map<number, readonly string[]>();
  const allFailed = Promise.withResolvers<readonly string[]>();
  const over = new AbortController();
  let held: readonly number[] = [];
  const membership = runMember({
    groupReader,
    groupId,
    topics: [offsetsTopic],
    members: replicas,
    assignor: sourceAssignor(offsetsTopic, (wasForgotten) =>
      describeReplica({ sources: keys, held: wasForgotten ? [] : held }),
    ),
    joined(partitions) {
      held = partitions.map(({ partition }) => partition);
      const isHeld = ({ offsetKey }: Owned) => held.includes(offsetPartition(offsetKey));
      events.replicaJoined({ partitions: held, sources: options.sources.filter(isHeld).map(({ name }) => name) });
    },
    createTask: ({ partition: { partition }, ...owned }) => ({
      async run() {
        const sources = byPartition.get(partition);
        if (sources === undefined) return;
        // Sources that failed here may run elsewhere later.
        owned.signal.addEventListener('abort', () => failed.delete(partition), { once: true });
        failed.set(partition, await options.run({ partition, sources, ...owned }));
        if (failed.size === byPartition.size) allFailed.resolve([...failed.values()].flat());
      },
    }),
    attemptFailed(attempt) {
      // A new member holds nothing.
      held = [];
      events.attemptFailed({ source: 'replicas', ...attempt });
    },
    clock,
    random,
    signal: AbortSignal.any([options.signal, over.signal]),
  });
  try {
    return await Promise.race([allFailed.promise, membership]);
  } finally {
    over.abort(new Error('this replica ends'));
    await membership.catch(() => {});
  }
}
