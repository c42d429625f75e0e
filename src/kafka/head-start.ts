import type { Clock } from '../support/clock.ts';
import { within } from '../support/deadline.ts';
import type { Assignor } from './group-reader.ts';
import type { TopicPartition } from './topic.ts';

/*
 * A broker lets the first member of a group wait for others, 3 s by default (group.initial.rebalance.delay.ms). But an
 * empty group's partitions have no owner. So the member starts with the partitions that it would get alone. The
 * response to its join confirms these partitions, or takes some away. Before the response, the member requests the
 * group's state and sends no heartbeats. The member counts as confirmed while the group has no second member.
 *
 * Two replicas may start together. Then the later replica fences the earlier replica, and both wait for their joins.
 */

export interface DescribedGroup {
  readonly state: string;
  readonly members: readonly unknown[];
}

/** Uses a separate connection, because the member's connection waits for the join. */
export interface GroupQuestions {
  describe(): Promise<DescribedGroup>;
  close(): void;
}

export interface HeadStartOptions {
  readonly open: () => GroupQuestions;
  /** Called if the group is empty: the member takes the partitions that it would get alone. */
  readonly take: () => void;
  /** Called when the group has no other member. `askedAtMs` is the monotonic time of the request. */
  readonly confirm: (askedAtMs: number) => void;
  /** True after the join has reached the broker. Then a single member of the group is this member. */
  readonly isKnown: () => boolean;
  readonly everyMs: number;
  /** The join waits at most this long for the first response. */
  readonly patienceMs: number;
  readonly clock: Clock;
  /** Aborts at the response to the join, or at the member's end. */
  readonly signal: AbortSignal;
}

/** Await this before the join. Rejects if the group's state cannot be read; then join without a head start. */
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
    // Without a confirmation, the member writes nothing until the response to its join.
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
    // A group that is stable before the response to this member's join consists of other members.
    if (signal.aborted || members.length > 1 || state === 'Stable') return;
    // Before the join has reached the broker, a single member is another process. It may also count itself as alone.
    if (members.length <= own) confirm(askedAtMs);
  }
}

export function assignmentOfOne(assignor: Assignor): readonly TopicPartition[] {
  const id = 'alone';
  return assignor.assign([{ id, description: assignor.describe(false) }]).get(id) ?? [];
}
