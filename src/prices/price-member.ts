import type { TopicPartition } from '../kafka/topic.ts';
import type { Events } from '../observe/events.ts';
import { type MembershipOptions, type OwnedPartition, runMember } from '../worker/membership.ts';
import type { PartitionCore } from './core/partition-core.ts';
import { type AskedKind, createFreshnessView } from './freshness.ts';
import type { PartitionTask } from './partition-task.ts';

export interface PriceMemberOptions
  extends Omit<MembershipOptions, 'assignor' | 'alone' | 'joined' | 'createTask' | 'attemptFailed'> {
  readonly partitions: readonly TopicPartition[];
  readonly kinds: readonly [AskedKind, ...AskedKind[]];
  /** Creates the task of a new partition. `before`: the core of an earlier task for this partition, or null. */
  readonly createTask: (owned: OwnedPartition, before: PartitionCore | null) => PartitionTask;
  readonly events: Events;
}

/**
 * Gets the prices of the instruments of `topics`, as a member of a consumer group. Each assigned partition has a task.
 *
 * @returns never; rejects with the signal's reason, or with an error that a retry cannot correct.
 */
export async function runPriceMember(options: PriceMemberOptions): Promise<never> {
  const { groupId, topics, kinds, createTask, clock, events } = options;
  // An ended task stays until another member gets the partition. Until then, the status shows the ages of its prices.
  const tasks = new Map<string, PartitionTask>();
  let assigned: readonly string[] | null = null;
  const { newest, refreshed } = createFreshnessView(() => [...tasks.values()], kinds, clock);
  const freshness = () => {
    const isKnown = assigned?.length === 0 || tasks.values().some(({ core }) => core !== null);
    return isKnown ? newest() : null;
  };
  events.processorStarted({ groupId, topics, kinds: kinds.map(({ kind }) => kind), freshness, refreshed });
  return runMember({
    ...options,
    alone: options.partitions,
    joined(partitions) {
      assigned = partitions.map(keyOf);
      for (const key of tasks.keys()) if (!assigned.includes(key)) tasks.delete(key);
      events.processorJoined({ partitions: partitions.length });
    },
    createTask(owned) {
      const key = keyOf(owned.partition);
      const task = createTask(owned, tasks.get(key)?.core ?? null);
      tasks.set(key, task);
      return {
        async run() {
          try {
            await task.run();
          } catch (error) {
            const why = textOf(owned.signal.aborted ? owned.signal.reason : error);
            events.partitionLost({ ...owned.partition, why });
            throw error;
          }
        },
        begun: () => task.begun(),
      };
    },
    attemptFailed: events.processorAttemptFailed,
  });
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
