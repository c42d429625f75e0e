import { ConnectorError } from '../errors.ts';
import type { GroupReader, GroupReaderOptions, OwnershipProof, PartitionReader } from '../kafka/group-reader.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { BackOff, Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { type FailedAttempt, retry } from '../support/retry.ts';
import { untilAborted } from '../support/until-aborted.ts';

const JOIN_BACK_OFF: BackOff = { initialMs: 200, maximumMs: 10_000 };
/** After a membership of at least this length, the next failure counts as the first failure again. */
const GOOD_MEMBERSHIP_MS = 60_000;

export interface OwnedPartition {
  readonly partition: TopicPartition;
  /** The proof of ownership that the partition's writer needs before it writes. */
  readonly ownershipProof: OwnershipProof['since'];
  /** Aborts when the partition moves to another member, and at the end of the membership. */
  readonly signal: AbortSignal;
}

/** The work for one partition while this member owns the partition. */
export interface WorkerTask {
  /** Works until the partition's signal aborts. If the work ends earlier, the member still keeps the partition. */
  run(): Promise<void>;
  /** Resolves when the task can take records that the group reads; absent if the group reads no records. */
  begun?(): Promise<PartitionReader>;
}

export interface MembershipOptions
  extends Pick<GroupReaderOptions, 'groupId' | 'topics' | 'assignor' | 'alone' | 'joined' | 'members' | 'signal'> {
  readonly groupReader: GroupReader;
  /** Called before the join; verifies all that the tasks need. Until the join, other members own the partitions. */
  readonly verifyStart?: (signal: AbortSignal) => Promise<void>;
  /** Called at the start of each membership. Rejects when this membership must end and a new membership must begin. */
  readonly untilOver?: ((signal: AbortSignal) => Promise<never>) | undefined;
  readonly createTask: (owned: OwnedPartition) => WorkerTask;
  readonly attemptFailed: (failed: FailedAttempt) => void;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Joins a consumer group, and runs a worker task (Kafka Connect's term) for each partition that this member owns. A
 * member that fails gives up all its partitions and joins again. So a restart of brokers needs no operator. Each join
 * is safe: a task's writer fences earlier writers and starts at the committed position (writer-sessions.ts).
 *
 * @returns never: rejects with the signal's reason, or with an error that a retry cannot correct.
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
 * Joins the group, and leaves the group at the end. All tasks end before the member leaves. So a commit in progress can
 * still get its proof of ownership, and the next owner does not interrupt this commit.
 *
 * @param endings by partition: a promise that resolves when the partition's last task in this process has ended.
 */
async function runMembership(options: MembershipOptions, endings: Map<string, Promise<void>>): Promise<never> {
  const { groupReader, untilOver, createTask, signal } = options;
  const [ended, left] = [new AbortController(), new AbortController()];
  const failed = Promise.withResolvers<never>();
  untilOver?.(AbortSignal.any([signal, ended.signal])).catch(failed.reject);
  const membership = groupReader.run({
    ...options,
    signal: left.signal,
    async assigned(partition, lost, ownershipProof) {
      const key = `${partition.topic}/${partition.partition}`;
      // Perhaps this partition's previous task has not ended yet.
      await endings.get(key);
      lost.throwIfAborted();
      const untilLost = () => untilAborted(new Promise<never>(() => {}), lost);
      if (ended.signal.aborted) return untilLost();
      const task = createTask({ partition, ownershipProof, signal: AbortSignal.any([lost, ended.signal]) });
      const running = task.run().catch((error: unknown) => {
        // A failed task ends the whole membership. If the other tasks continued, the failure would be hidden.
        if (!lost.aborted) failed.reject(error);
      });
      endings.set(key, running);
      if (task.begun === undefined) return untilLost();
      // While all tasks end, the error of one task is not a failure of the membership.
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
    // If the membership has failed, the group proves no ownership any more. Then the member leaves at once.
    await Promise.race([Promise.all(endings.values()), membership.catch(() => {})]);
    left.abort(new Error('this member has ended'));
    await membership.catch(() => {});
  }
}
