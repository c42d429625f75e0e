import type { Events, Freshness } from '../../observe/events.ts';
import type { Clock } from '../../support/clock.ts';
import type { FailedAttempt } from '../../support/retry.ts';
import type { TargetState, WorkerTarget } from '../../worker/target.ts';
import type { AgeStep } from '../drawing/charts.ts';
import { MinuteCounts } from './minute-counts.ts';
import type { ProcessorStatus, ShownFreshness, TaskState } from './status.ts';

/** Learns the status of the price processor from events. */
export function createStatusProcessor({
  name,
  target,
  clock,
  describe,
}: {
  readonly name: string;
  readonly target: () => WorkerTarget;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly describe: (error: unknown) => string;
}) {
  const isoNow = (afterMs = 0) => new Date(clock.wallMs() + afterMs).toISOString();
  const partitions = new Map<string, { topic: string; partition: number }>();
  const writerTroubles = new Map<string, string>();
  const written = { records: 0, deadLetters: 0, deadLettersOfRepaid: 0 };
  const minutes = new MinuteCounts(clock);
  let assigned = 0;
  let known: Pick<ProcessorStatus, 'task' | 'trace' | 'changedAt' | 'lastBatchAt' | 'trouble'> = {
    task: 'unassigned',
    trace: null,
    changedAt: isoNow(),
    lastBatchAt: null,
    trouble: null,
  };
  let freshness: () => Freshness | null = () => null;
  let refreshed = async () => {};
  const keyOf = ({ topic, partition }: { topic: string; partition: number }) => `${topic}-${partition}`;

  function setTask(task: TaskState, trace: string | null = null): void {
    const changedAt = known.task === task ? known.changedAt : isoNow();
    known = { ...known, task, trace, changedAt, trouble: null };
  }

  function setTrouble({ failures, waitMs, err }: FailedAttempt, only: string | null = null): void {
    const since = known.trouble?.since ?? isoNow();
    known = { ...known, trouble: { since, only, failures, message: describe(err), nextTryAt: isoNow(waitMs) } };
  }

  const events = {
    processorStarted(event) {
      freshness = event.freshness;
      if (event.refreshed) refreshed = event.refreshed;
      setTask('unassigned');
    },
    processorJoined(joined) {
      assigned = joined.partitions;
      setTask('running');
    },
    partitionAssigned({ topic, partition }) {
      partitions.set(keyOf({ topic, partition }), { topic, partition });
      writerTroubles.delete(keyOf({ topic, partition }));
    },
    partitionLost(lost) {
      partitions.delete(keyOf(lost));
      writerTroubles.delete(keyOf(lost));
    },
    partitionWriterLost({ err, ...lost }) {
      // The partition is not priced here until its writer is open again.
      partitions.delete(keyOf(lost));
      writerTroubles.set(keyOf(lost), describe(err));
    },
    batchPriced({ records, deadLetters, deadLettersOfRepaid, answered, kind }) {
      written.records += records;
      written.deadLetters += deadLetters;
      written.deadLettersOfRepaid += deadLettersOfRepaid;
      minutes.add(records);
      // Refused calls, and records without any response, do not show that the provider answers.
      if (answered === 0) return;
      // The provider may refuse one kind of prices while prices of another kind arrive.
      const isOver = [kind, null].includes(known.trouble?.only ?? null);
      known = { ...known, lastBatchAt: isoNow(), trouble: isOver ? null : known.trouble };
    },
    bulkAttemptFailed: (failed) => setTrouble(failed, failed.kind),
    processorAttemptFailed(failed) {
      if (!failed.isMember) {
        // The processor has no partition until it joins its group again. The earlier failure is still shown.
        const { trouble } = known;
        setTask('unassigned');
        known = { ...known, trouble };
        assigned = 0;
      }
      setTrouble(failed);
    },
    processorRests: ({ wanted }) => setTask(wanted === 'paused' ? 'paused' : 'unassigned'),
    processorFailed: ({ err }) => setTask('failed', describe(err)),
  } satisfies Partial<Events>;

  return {
    events,
    refreshed: () => refreshed(),
    status(isSilent: boolean): ProcessorStatus {
      const wanted = target().state;
      const task = taskOf(wanted, known.task);
      // A paused or stopped processor has no instruments, and "0 of 0 priced" looks like a loss.
      const fresh = wanted === 'running' ? freshness() : null;
      const isReading = task === 'running' && partitions.size >= assigned && !isSilent;
      return {
        ...known,
        name,
        wanted,
        task,
        partitions: [...partitions.values()],
        assigned,
        writerTrouble: writerTroubles.values().next().value ?? null,
        freshness: fresh && shownFreshness(fresh, isReading),
        written: { ...written },
        perMinute: minutes.counts(),
      };
    },
  };
}

/** A paused or stopped processor has left its group, even if its last event says otherwise. */
function taskOf(wanted: TargetState, task: TaskState): TaskState {
  if (wanted === 'running' || task === 'failed') return task;
  return wanted === 'paused' ? 'paused' : 'unassigned';
}

/** @param isReading true if all partitions are read; otherwise the number of unread records is unknown */
function shownFreshness(
  { ages: _, kinds, lag, unansweredInputs, ...fresh }: Freshness,
  isReading: boolean,
): ShownFreshness {
  return {
    ...fresh,
    lag: isReading ? lag : null,
    unansweredInputs: isReading ? unansweredInputs : null,
    kinds: kinds.map(({ ages, ...kind }) => ({ ...kind, ages: ageSteps(ages) })),
  };
}

/** `ages` counts all prices up to each age. The result counts the prices between this age and the previous age. */
function ageSteps(ages: Freshness['ages']): readonly AgeStep[] {
  return ages.map(({ atMostMs, instruments }, at) => ({
    atMostSeconds: Number.isFinite(atMostMs) ? atMostMs / 1_000 : null,
    instruments: instruments - (ages[at - 1]?.instruments ?? 0),
  }));
}
