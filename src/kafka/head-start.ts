import type { Clock } from '../support/clock.ts';
import { within } from '../support/deadline.ts';
import type { Assignor } from './assignor.ts';
import type { TopicPartition } from './topic.ts';

/*
 * A broker lets the first member of a group wait for others, 3 s by default (group.initial.rebalance.delay.ms): most of
 * the time that a start takes. But nobody holds a partition of a group without members. So a member that finds its group
 * empty goes ahead with what it would be given alone, and the answer to its join confirms that, or takes some of it away.
 * Until then it asks the group instead of sending heartbeats, and is confirmed as long as there is no second member.
 *
 * Two replicas that start at the same moment may both go ahead. Then the fence decides, as after any change of owners:
 * the later one ends the transaction of the earlier one, and as each sees the other now, both wait for their joins.
 */

/** What a broker says of a group. */
export interface DescribedGroup {
  readonly state: string;
  readonly members: readonly unknown[];
}

/** Asks a broker about the group of a member, on a connection of its own: behind its join, nothing else is answered. */
export interface GroupQuestions {
  describe(): Promise<DescribedGroup>;
  close(): void;
}

export interface HeadStartOptions {
  readonly open: () => GroupQuestions;
  /** The group is empty: the member may take what it would be given alone. */
  readonly take: () => void;
  /** The group was asked at this moment of the monotonic clock, and nobody else is in it. */
  readonly confirm: (askedAtMs: number) => void;
  /** Whether the broker was asked to take this member in: the one member that is seen from then on is this one. */
  readonly isKnown: () => boolean;
  /** Between two questions. */
  readonly everyMs: number;
  /** The join waits no longer than this for the first answer. */
  readonly patienceMs: number;
  readonly clock: Clock;
  /** Aborts when the join is answered, or the member ends. */
  readonly signal: AbortSignal;
}

/**
 * Asks whether the group is empty, and if so takes what is there. To be awaited before the join, after which the group has
 * a member; what it confirms from then on, it does by itself. Rejects when the group cannot be asked: the join goes on.
 */
export async function headStart(options: HeadStartOptions): Promise<void> {
  const { open, take, confirm, patienceMs, clock, signal } = options;
  const questions = open();
  let isAlone = false;
  try {
    const askedAtMs = clock.monotonicMs();
    const late = () => new Error(`the group was not described within ${patienceMs} ms`);
    const { members } = await within(questions.describe(), patienceMs, clock, late);
    isAlone = members.length === 0 && !signal.aborted;
    if (!isAlone) return;
    confirm(askedAtMs);
    take();
  } finally {
    if (!isAlone) questions.close();
  }
  confirmWhileJoining(options, questions)
    // Without a confirmation nothing is written until the join is answered.
    .catch(() => {})
    .finally(() => questions.close());
}

async function confirmWhileJoining(
  { confirm, isKnown, everyMs, clock, signal }: HeadStartOptions,
  questions: GroupQuestions,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(everyMs, signal);
    const askedAtMs = clock.monotonicMs();
    const own = isKnown() ? 1 : 0;
    const { state, members } = await questions.describe();
    // A group that is complete, while the join of this member was not answered, is the group of others.
    if (signal.aborted || members.length > 1 || state === 'Stable') return;
    // While the join has not reached the broker, the one that is seen is another one, which may believe the same of this.
    if (members.length <= own) confirm(askedAtMs);
  }
}

/** What a member is given that has no others beside it. */
export function assignmentOfOne(assignor: Assignor): readonly TopicPartition[] {
  const id = 'alone';
  return assignor.assign([{ id, description: assignor.describe(false) }]).get(id) ?? [];
}
