import type { Clock } from '../support/clock.ts';
import { within } from '../support/deadline.ts';
import type { Assignor } from './group-reader.ts';
import type { TopicPartition } from './topic.ts';

/*
 * A head start: a member of a consumer group works before its join is answered. The broker lets the first member wait
 * for other members, 3 s by default (group.initial.rebalance.delay.ms). But the partitions of an empty group have no
 * owner. So if the group is empty, the member starts with the partitions that a single member gets. The response to the
 * join confirms these partitions, or removes some. Until then, the member sends no heartbeats, but requests the group's
 * state. While the group has no second member, the member counts as the owner.
 *
 * If two processes start together, the second one fences the writers of the first one. Then both wait for their joins.
 */

export interface DescribedGroup {
  readonly state: string;
  readonly members: readonly unknown[];
}

/** Requests the group's state on a separate connection, because the member's connection waits for the join. */
export interface GroupQuestions {
  describe(): Promise<DescribedGroup>;
  close(): void;
}

export interface HeadStartOptions {
  readonly open: () => GroupQuestions;
  /** Called if the group is empty: the member takes the partitions that a single member gets. */
  readonly take: () => void;
  /** Called when the group has no other member. `askedAtMs` is the monotonic time of the request. */
  readonly confirm: (askedAtMs: number) => void;
  /** True after the join has reached the broker. If the group then has only one member, it is this member. */
  readonly isKnown: () => boolean;
  readonly everyMs: number;
  /** The join waits at most this long for the first description of the group. */
  readonly patienceMs: number;
  readonly clock: Clock;
  /** Aborts at the response to the join, or at the member's end. */
  readonly signal: AbortSignal;
}

/** Await this function before the join. Rejects if the group's state cannot be read: then there is no head start. */
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
    // The group is not stable while it waits for this member to join. If it is stable, all its members are other processes.
    if (signal.aborted || members.length > 1 || state === 'Stable') return;
    // Before the join has reached the broker, a single member is another process, perhaps also with a head start.
    if (members.length <= own) confirm(askedAtMs);
  }
}

export function assignmentOfOne(assignor: Assignor): readonly TopicPartition[] {
  const id = 'alone';
  return assignor.assign([{ id, description: assignor.describe(false) }]).get(id) ?? [];
}
