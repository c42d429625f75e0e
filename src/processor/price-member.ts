import type { GroupReader } from '../kafka/group-reader.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { type OwnedPartition, runMember } from '../worker/membership.ts';
import type { AskedKind } from './freshness.ts';
import { createFreshnessView } from './freshness-view.ts';
import type { PartitionTask } from './partition-task.ts';

export interface PriceMemberOptions {
  readonly groupReader: GroupReader;
  readonly groupId: string;
  /** Called with the number of members that share the request limit, this one included, whenever that has changed. */
  readonly members?: (count: number) => void;
  /** Called whenever partitions are assigned, perhaps none. */
  readonly joined?: () => void;
  /** The topics of instruments whose prices are followed. */
  readonly topics: readonly string[];
  /** All their partitions. */
  readonly partitions: readonly TopicPartition[];
  /** The first one answers new instruments. */
  readonly kinds: readonly [AskedKind, ...AskedKind[]];
  /** Verifies what no partition can do without, such as schemas. */
  readonly verifyStart: (signal: AbortSignal) => Promise<void>;
  /** A task for a partition that is newly ours, until its signal aborts. */
  readonly createTask: (owned: OwnedPartition) => PartitionTask;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ProcessorEvents;
  readonly signal: AbortSignal;
}

/**
 * Prices the instruments of some topics, as one member of a group: a task for each partition that is ours.
 *
 * @returns never: rejects with the signal's reason, or with an error that no repetition mends.
 */
export async function runPriceMember(options: PriceMemberOptions): Promise<never> {
  const { groupReader, groupId, members, topics, kinds, verifyStart, createTask, clock, random, events } = options;
  const tasks = new Set<PartitionTask>();
  const { newest: freshness, refreshed } = createFreshnessView(() => [...tasks], kinds, clock);
  events.processorStarted({ groupId, topics, kinds: kinds.map(({ kind }) => kind), freshness, refreshed });
  return runMember({
    groupReader,
    groupId,
    members,
    topics,
    alone: options.partitions,
    verifyStart,
    joined(partitions) {
      options.joined?.();
      events.processorJoined({ partitions: partitions.length });
    },
    createTask(owned) {
      const task = createTask(owned);
      return {
        async run() {
          tasks.add(task);
          try {
            await task.run();
          } catch (error) {
            const why = textOf(owned.signal.aborted ? owned.signal.reason : error);
            events.partitionLost({ ...owned.partition, why });
            throw error;
          } finally {
            tasks.delete(task);
          }
        },
        begun: () => task.begun(),
      };
    },
    attemptFailed: (attempt) => events.processorAttemptFailed({ ...attempt, isMember: false }),
    clock,
    random,
    signal: options.signal,
  });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
