import { ConnectorError } from '../errors.ts';
import type { GroupReader, GroupReaderOptions, OwnershipProof, PartitionReader } from '../kafka/group-reader.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { BackOff, Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { type FailedAttempt, retry } from '../support/retry.ts';
import { untilAborted } from '../support/until-aborted.ts';

const JOIN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 10_000 };
/** A membership that lasted so long was a good one: the next failure is the first again. */
const GOOD_MEMBERSHIP_MS = 60_000;

/** One partition, while it is ours. */
export interface OwnedPartition {
  readonly partition: TopicPartition;
  /** The proof that the partition's writer needs before it writes. */
  readonly ownershipProof: OwnershipProof['since'];
  /** Aborts when the partition goes to another member, and at the end. */
  readonly signal: AbortSignal;
}

/** The work for one partition, from its assignment until it is lost. */
export interface WorkerTask {
  /** Runs until the partition's signal aborts; if it resolves before, the partition stays as it is until lost. */
  run(): Promise<void>;
  /** Resolves once the group shall read the partition for it; left out where nothing is read by way of the group. */
  begun?(): Promise<PartitionReader>;
}

export interface MembershipOptions
  extends Pick<GroupReaderOptions, 'groupId' | 'topics' | 'assignor' | 'alone' | 'joined' | 'members' | 'signal'> {
  readonly groupReader: GroupReader;
  /** Verifies what no partition can do without: until it resolves the partitions are left to other members. */
  readonly verifyStart?: (signal: AbortSignal) => Promise<void>;
  /** Rejects when this membership must end and another one begin; asked for once at each join. */
  readonly untilOver?: ((signal: AbortSignal) => Promise<never>) | undefined;
  readonly createTask: (owned: OwnedPartition) => WorkerTask;
  readonly attemptFailed: (failed: FailedAttempt) => void;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The first half of what Kafka Connect calls a worker task, for sources and prices alike: join the group, and run a task
 * for each partition that is ours. A member that cannot go on gives up everything, and joins again: brokers that restart
 * need no operator, and the fence and the committed position make each joining safe. The second half is
 * the task's writer (writer-sessions.ts).
 *
 * @returns never: rejects with the signal's reason, or with an error that no repetition mends.
 */
export async function runMember(options: MembershipOptions): Promise<never> {
  const { verifyStart, signal } = options;
  const endings = new Map<string, Promise<void>>();
  try {
    return await retry(
      async () => {
        await verifyStart?.(signal);
        return await runMembership(options, endings);
      },
      { ...options, backOff: JOIN_BACK_OFF, mayRetry: isPassing, forgetAfterMs: GOOD_MEMBERSHIP_MS },
    );
  } finally {
    await Promise.all(endings.values());
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof ConnectorError && ['retry', 'retrySlowly'].includes(error.action);
}

/**
 * From one joining of the group until it is left. At the end the tasks end before that: until then the group confirms a
 * commit under way, which the next owner need not fence.
 *
 * @param endings of each partition, when its last task here has ended.
 */
async function runMembership(options: MembershipOptions, endings: Map<string, Promise<void>>): Promise<never> {
  const { groupReader, groupId, topics, assignor, alone, joined, members, untilOver, createTask, signal } = options;
  const [ended, left] = [new AbortController(), new AbortController()];
  const failed = Promise.withResolvers<never>();
  untilOver?.(AbortSignal.any([signal, ended.signal])).catch(failed.reject);
  const membership = groupReader.run({
    groupId,
    topics,
    members,
    ...(assignor && { assignor }),
    ...(alone && { alone }),
    ...(joined && { joined }),
    signal: left.signal,
    async assigned(partition, lost, ownershipProof) {
      const key = `${partition.topic}/${partition.partition}`;
      // Its last time here may still be ending.
      await endings.get(key);
      lost.throwIfAborted();
      const untilLost = () => untilAborted(new Promise<never>(() => {}), lost);
      if (ended.signal.aborted) return untilLost();
      const task = createTask({ partition, ownershipProof, signal: AbortSignal.any([lost, ended.signal]) });
      const running = task.run().catch((error: unknown) => {
        // One partition that cannot go on ends the member: the others would hide that this one does no work.
        if (!lost.aborted) failed.reject(error);
      });
      endings.set(key, running);
      if (task.begun === undefined) return untilLost();
      // The end of a task is no failure of the member while all tasks end.
      const unlessEnding = (error: unknown) => {
        if (!ended.signal.aborted) throw error;
        return untilLost();
      };
      const reader = await task.begun().catch(unlessEnding);
      return { position: () => reader.position(), take: (batch) => reader.take(batch).catch(unlessEnding) };
    },
  });
  try {
    return await untilAborted(Promise.race([failed.promise, membership]), signal);
  } finally {
    ended.abort(signal.aborted ? signal.reason : new Error('this member ends'));
    // Once the membership has failed, there is no group that would confirm anything.
    await Promise.race([Promise.all(endings.values()), membership.catch(() => {})]);
    left.abort(new Error('this member has ended'));
    await membership.catch(() => {});
  }
}
