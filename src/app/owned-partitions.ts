import type { Source as ConfiguredSource } from '../connector/offset-partition.ts';
import { describeReplica, readReplica, shareOut } from '../connector/ownership.ts';
import { ConnectorError } from '../errors.ts';
import type { GroupReader, GroupReaderOptions } from '../kafka/group-reader.ts';
import type { Assignor } from '../kafka/assignor.ts';
import { offsetPartition } from '../kafka/offset-store.ts';
import type { OwnershipProof } from '../kafka/ownership-proof.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';

const JOIN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 10_000 };

type Owned = Pick<ConfiguredSource, 'name' | 'offsetKey'>;

/** One partition of the offsets topic, while it is ours. */
export interface OwnedPartition<Source> {
  readonly partition: number;
  /** Those of the settings that live on it. */
  readonly sources: readonly Source[];
  /** The proof that the partition's writer needs before it writes. */
  readonly ownershipProof: OwnershipProof['since'];
  /** Aborts when the partition goes to another replica, and at the end. */
  readonly signal: AbortSignal;
}

export interface OwnedPartitionsOptions<Source> {
  readonly sources: readonly Source[];
  readonly groupReader: GroupReader;
  readonly groupId: string;
  /** Told how many replicas there are, this one included, whenever that may have changed. */
  readonly replicas?: (count: number) => void;
  readonly offsetsTopic: string;
  /** Runs the sources of a partition until its signal aborts; gives the names of those that failed when none is left. */
  readonly run: (owned: OwnedPartition<Source>) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Pick<ConnectorEvents, 'attemptFailed' | 'replicaJoined'>;
  readonly signal: AbortSignal;
}

/**
 * Runs the sources that are this replica's. All replicas are members of one group over the offsets topic; whoever is
 * given a partition runs its sources, through the partition's one writer. Nothing is read by way of the group. At the
 * end the partitions are given up before the group is left, so that the heir need not fence a commit under way.
 *
 * @returns the names of the sources, when all of them have failed here; rejects with the signal's reason, or with what
 *   a partition cannot survive.
 */
export async function runOwnedPartitions<Source extends Owned>(
  options: OwnedPartitionsOptions<Source>,
): Promise<readonly string[]> {
  const byPartition = Map.groupBy(options.sources, ({ offsetKey }) => offsetPartition(offsetKey));
  const [ended, left] = [new AbortController(), new AbortController()];
  const runs = new Map<number, Promise<unknown>>();
  const failed = new Map<number, readonly string[]>();
  const allFailed = Promise.withResolvers<readonly string[]>();
  const runOwned = async (partition: number, lost: AbortSignal, ownershipProof: OwnershipProof['since']) => {
    const sources = byPartition.get(partition);
    if (sources === undefined) return;
    const before = runs.get(partition);
    const signal = AbortSignal.any([lost, ended.signal]);
    const running = (async () => {
      // Its last time here may still be ending.
      await before;
      signal.throwIfAborted();
      return options.run({ partition, sources, ownershipProof, signal });
    })();
    runs.set(
      partition,
      running.catch(() => {}),
    );
    try {
      failed.set(partition, await running);
      if (failed.size === byPartition.size) allFailed.resolve([...failed.values()].flat());
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
  const membership = stayMember(options, {
    signal: left.signal,
    async assigned({ partition }, lost, ownershipProof) {
      await runOwned(partition, lost, ownershipProof);
      // Reading, which would begin now, is no part of this: the partition stays as it is until it is lost. What failed
      // here may run elsewhere then.
      return untilAborted(new Promise<never>(() => {}), lost).finally(() => failed.delete(partition));
    },
  });
  try {
    return await untilAborted(Promise.race([allFailed.promise, membership]), options.signal);
  } finally {
    ended.abort(options.signal.aborted ? options.signal.reason : new Error('this replica ends'));
    await Promise.allSettled(runs.values());
    left.abort(new Error('this replica has ended'));
    await membership.catch(() => {});
  }
}

/** A member that cannot go on loses everything, and joins again. */
async function stayMember<Source extends Owned>(
  options: OwnedPartitionsOptions<Source>,
  own: Pick<GroupReaderOptions, 'signal' | 'assigned'>,
): Promise<never> {
  const { groupReader, groupId, offsetsTopic, clock, random, events } = options;
  const keys = options.sources.map(({ offsetKey }) => offsetKey);
  for (let failures = 1; ; failures++) {
    let held: readonly number[] = [];
    try {
      return await groupReader.run({
        ...own,
        groupId,
        topics: [offsetsTopic],
        members: options.replicas,
        assignor: assignorOf(offsetsTopic, (wasForgotten) =>
          describeReplica({ sources: keys, held: wasForgotten ? [] : held }),
        ),
        joined(partitions) {
          failures = 0;
          held = partitions.map(({ partition }) => partition);
          const isHeld = ({ offsetKey }: Owned) => held.includes(offsetPartition(offsetKey));
          events.replicaJoined({ partitions: held, sources: options.sources.filter(isHeld).map(({ name }) => name) });
        },
      });
    } catch (error) {
      own.signal.throwIfAborted();
      if (!(error instanceof ConnectorError) || error.action !== 'retry') throw error;
      const waitMs = backOffMs(Math.max(failures, 1), JOIN_BACK_OFF, random);
      events.attemptFailed({ source: 'replicas', failures: Math.max(failures, 1), waitMs, err: error });
      await clock.sleep(waitMs, own.signal);
    }
  }
}

function assignorOf(topic: string, describe: Assignor['describe']): Assignor {
  return {
    name: 'sources',
    describe,
    assign(members) {
      const shares = shareOut(members.map(readReplica), offsetPartition);
      return new Map([...shares].map(([id, held]) => [id, held.map((partition) => ({ topic, partition }))]));
    },
  };
}
