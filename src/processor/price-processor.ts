import { ConnectorError } from '../errors.ts';
import type { GroupReader } from '../kafka/group-reader.ts';
import type { OwnershipProof } from '../kafka/ownership-proof.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { AskedKind } from './freshness.ts';
import { createFreshnessView } from './freshness-view.ts';
import type { PartitionTask } from './partition-task.ts';

const RUN_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };
/** A run that lasted so long was a good one: the next failure is the first again. */
const GOOD_RUN_MS = 60_000;

export interface PriceProcessorOptions {
  readonly groupReader: GroupReader;
  readonly groupId: string;
  /** Told how many members the group has, this one included, whenever that may have changed. */
  readonly members?: (count: number) => void;
  /** The topics of instruments whose prices are followed. */
  readonly topics: readonly string[];
  /** The first one answers new instruments. */
  readonly kinds: readonly [AskedKind, ...AskedKind[]];
  /** Proves what no partition can do without, such as schemas: until then the partitions are left to other members. */
  readonly prove: (signal: AbortSignal) => Promise<void>;
  /** A task for a partition that is newly ours, until its signal aborts; the group confirms it until it is lost. */
  readonly createTask: (
    partition: TopicPartition,
    signal: AbortSignal,
    ownershipProof: OwnershipProof['since'],
  ) => PartitionTask;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ProcessorEvents;
  readonly signal: AbortSignal;
}

/**
 * Prices the instruments of some topics, as one member of a group: a task for each partition that is ours. When the
 * member cannot go on but may again, it joins again and every task begins again: brokers that restart need no operator,
 * and the fence and the committed offset make each joining safe.
 *
 * @returns never: rejects with the signal's reason, or with an error that no repetition mends.
 */
export async function runPriceProcessor(options: PriceProcessorOptions): Promise<never> {
  const { groupId, topics, kinds, prove, clock, random, events, signal } = options;
  const tasks = new Set<PartitionTask>();
  const { newest: freshness, refreshed } = createFreshnessView(() => [...tasks], kinds, clock);
  events.processorStarted({ groupId, topics, kinds: kinds.map(({ kind }) => kind), freshness, refreshed });
  for (let failures = 1; ; failures++) {
    const startedMs = clock.monotonicMs();
    try {
      await prove(signal);
      await runMember(options, tasks);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ConnectorError) || !['retry', 'retrySlowly'].includes(error.action)) throw error;
      if (clock.monotonicMs() - startedMs > GOOD_RUN_MS) failures = 1;
      const waitMs = backOffMs(failures, RUN_BACK_OFF, random);
      events.processorAttemptFailed({ failures, waitMs, err: error, isMember: false });
      await clock.sleep(waitMs, signal);
    }
  }
}

/** At the end the tasks end before the group is left: it still confirms a commit under way, which no heir need fence. */
async function runMember(options: PriceProcessorOptions, tasks: Set<PartitionTask>): Promise<never> {
  const { groupReader, groupId, topics, createTask, events, signal } = options;
  const [ended, left] = [new AbortController(), new AbortController()];
  const failed = Promise.withResolvers<never>();
  const endings = new Map<string, Promise<void>>();
  const membership = groupReader.run({
    groupId,
    topics,
    members: options.members,
    joined: (partitions) => events.processorJoined({ partitions: partitions.length }),
    signal: left.signal,
    async assigned(partition, lost, ownershipProof) {
      const key = `${partition.topic}/${partition.partition}`;
      // Its last time here may still be ending.
      await endings.get(key);
      lost.throwIfAborted();
      const task = createTask(partition, AbortSignal.any([lost, ended.signal]), ownershipProof);
      tasks.add(task);
      const running = task.run().catch((error: unknown) => {
        tasks.delete(task);
        events.partitionLost({ ...partition, why: textOf(lost.aborted ? lost.reason : error) });
        // One partition that cannot go on ends the member: the others would hide that some instruments have no prices.
        if (!lost.aborted) failed.reject(error);
      });
      endings.set(key, running);
      // That a task ends because all do is no failure of the member.
      const unlessEnding = (error: unknown) => {
        if (!ended.signal.aborted) throw error;
        return untilAborted(new Promise<never>(() => {}), lost);
      };
      await task.begun().catch(unlessEnding);
      return { position: () => task.position(), take: (batch) => task.take(batch).catch(unlessEnding) };
    },
  });
  try {
    return await untilAborted(Promise.race([failed.promise, membership]), signal);
  } finally {
    ended.abort(signal.aborted ? signal.reason : new Error('this member ends'));
    await Promise.all(endings.values());
    left.abort(new Error('this member has ended'));
    await membership.catch(() => {});
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
