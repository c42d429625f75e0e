import type { Clock } from '../support/clock.ts';
import { within } from '../support/deadline.ts';
import type { Assignor } from './group-reader.ts';
import type { TopicPartition } from './topic.ts';

/*
 * A broker lets the first member of a group wait for others, 3 s by default (group.initial.rebalance.delay.ms). In a group
 * without members no partition has an owner. So a member of an empty group goes ahead with the partitions that it would get
 * alone; the response to its join confirms them, or takes some away. Until then it asks for the group's state instead of
 * sending heartbeats, and counts as confirmed while there is no second member.
 *
 * Two replicas that start together may both go ahead: the later one fences the earlier one, and both wait for their joins.
 */

export interface DescribedGroup {
  readonly state: string;
  readonly members: readonly unknown[];
}

/** On a connection of its own: the member's connection waits for the join. */
export interface GroupQuestions {
  describe(): Promise<DescribedGroup>;
  close(): void;
}

export interface HeadStartOptions {
  readonly open: () => GroupQuestions;
  /** The group is empty: the member may take what it would get alone. */
  readonly take: () => void;
  /** The group was asked at this moment of the monotonic clock, and has no other member. */
  readonly confirm: (askedAtMs: number) => void;
  /** Whether the join has reached the broker: from then on a single member is this one. */
  readonly isKnown: () => boolean;
  readonly everyMs: number;
  /** The join waits no longer than this for the first response. */
  readonly patienceMs: number;
  readonly clock: Clock;
  /** Aborts when the join is answered, or the member ends. */
  readonly signal: AbortSignal;
}

/** To be awaited before the join. Rejects when the group cannot be asked: the join goes on. */
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
    // A group that is complete before this member's join was answered is a group of others.
    if (signal.aborted || members.length > 1 || state === 'Stable') return;
    // Before the join has reached the broker, a single member is another one, which may also count itself as alone.
    if (members.length <= own) confirm(askedAtMs);
  }
}

export function assignmentOfOne(assignor: Assignor): readonly TopicPartition[] {
  const id = 'alone';
  return assignor.assign([{ id, description: assignor.describe(false) }]).get(id) ?? [];
}
