import { ConnectorError } from '../../errors.ts';
import type { Events, Freshness } from '../../observe/events.ts';
import type { Clock } from '../../support/clock.ts';
import type { FailedAttempt } from '../../support/retry.ts';
import type { TargetState, WorkerTarget } from '../../worker/target.ts';
import type { AgeStep } from '../drawing/charts.ts';
import { MinuteCounts } from './minute-counts.ts';
import {
  type ProcessorStatus,
  type ShownFreshness,
  type ShownKind,
  type TaskState,
  TRIED_WITHIN_MS,
  type Trouble,
} from './status.ts';

/** An earlier failed call, or a failed call before Kafka became silent, is not the reason why prices are overdue now. */
const FRESH_FAILURE_MS = 60_000;

/** Learns the status of the price processor from the events of the log (observe/events.ts). */
export function createStatusProcessor(options: {
  readonly name: string;
  readonly target: () => WorkerTarget;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly describe: (error: unknown) => string;
}) {
  const { name, target, clock, describe } = options;
  const isoNow = (afterMs = 0) => new Date(clock.wallMs() + afterMs).toISOString();
  const partitions = new Map<string, { topic: string; partition: number }>();
  const writerTroubles = new Map<string, string>();
  const written = { records: 0, deadLetters: 0, deadLettersOfRepaid: 0 };
  const minutes = new MinuteCounts(clock);
  /** `failing`: the kinds of prices that fail now. `answered`: the kinds with an answer after the first of them failed. */
  const failing = new Map<string, Trouble>();
  /** The partitions whose reading waits for the registry. */
  const unread = new Map<string, Trouble>();
  const answered = new Set<string>();
  const lastFailures = new Map<string, { readonly at: string; readonly code: string }>();
  let kinds: readonly string[] = [];
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
    // A restart that failed again is a new failure.
    const changedAt = known.task === task && task !== 'failed' ? known.changedAt : isoNow();
    known = { ...known, task, trace, changedAt, trouble: null };
  }

  /** The tasks of all partitions end, and with them the failures of their requests. */
  function setRest(task: TaskState, trace: string | null = null): void {
    setTask(task, trace);
    failing.clear();
    unread.clear();
  }

  function troubleOf({ failures, waitMs, err }: FailedAttempt, since: string | undefined): Trouble {
    const message = describe(err);
    const times = { since: since ?? isoNow(), nextTryAt: isoNow(waitMs) };
    const restartTriesNow = !(err instanceof ConnectorError && err.retryAfterMs !== undefined);
    return { ...times, part: null, failures, message, restartTriesNow };
  }

  /** The partition of a product that failed may be with another replica now, which repeats the request. */
  function endOld(): void {
    for (const [kind, { nextTryAt }] of failing) if (nextTryAt <= isoNow(-TRIED_WITHIN_MS)) failing.delete(kind);
  }

  /** The processor's own trouble, or else those of its reading and of the kinds that fail now. */
  function troubles() {
    endOld();
    const [ofReading, ofKinds] = [summed(unread, () => 'reading of instruments'), summed(failing, failingKinds)];
    if (known.trouble !== null) return { trouble: known.trouble, otherTrouble: null };
    return { trouble: ofReading ?? ofKinds, otherTrouble: ofReading && ofKinds };
  }

  function failingKinds(): string | null {
    if (kinds.every((kind) => failing.has(kind))) return kinds.length > 1 ? 'all kinds' : null;
    const names = [...failing.keys()].sort().join(', ');
    const isAnswered = kinds.every((kind) => failing.has(kind) || answered.has(kind));
    return isAnswered ? `only ${names}; all others had answers meanwhile` : names;
  }

  const events = {
    processorStarted(event) {
      freshness = event.freshness;
      kinds = event.kinds;
      if (event.refreshed) refreshed = event.refreshed;
      setRest('unassigned');
      // Until now an operator may have stopped it.
      known = { ...known, changedAt: isoNow() };
    },
    processorJoined(joined) {
      assigned = joined.partitions;
      // Kept partitions go on, and so do their failures. Without a partition, nothing is requested any more.
      if (assigned > 0) setTask('running');
      else setRest('running');
    },
    partitionAssigned({ topic, partition }) {
      partitions.set(keyOf({ topic, partition }), { topic, partition });
      writerTroubles.delete(keyOf({ topic, partition }));
    },
    partitionLost(lost) {
      for (const some of [partitions, writerTroubles, unread]) some.delete(keyOf(lost));
    },
    partitionWriterLost({ err, ...lost }) {
      // This replica does not price the partition until the writer of the partition is open again.
      partitions.delete(keyOf(lost));
      writerTroubles.set(keyOf(lost), describe(err));
    },
    batchPriced({ records, deadLetters, deadLettersOfRepaid, answered: answers }) {
      written.records += records;
      written.deadLetters += deadLetters;
      written.deadLettersOfRepaid += deadLettersOfRepaid;
      minutes.add(records);
      // A batch of refused calls, or of records without a response, does not show that the provider answers.
      if (answers === 0) return;
      known = { ...known, lastBatchAt: isoNow(), trouble: null };
    },
    bulkAnswered({ kind }) {
      failing.delete(kind);
      answered.add(kind);
    },
    bulkAttemptFailed({ kind, ...failed }) {
      endOld();
      const before = failing.get(kind);
      if (failing.size === 0) answered.clear();
      answered.delete(kind);
      const failures = (before?.failures ?? 0) + 1;
      // After a restart, each price waits for its usual refresh. This can be later than the next try.
      const trouble = { ...troubleOf({ ...failed, failures }, before?.since), restartTriesNow: false };
      known = { ...known, trouble: null };
      lastFailures.set(kind, { at: isoNow(), code: trouble.message.split(':')[0] ?? '' });
      // Moves the kind to the end of the map, because the newest failure must be the last entry.
      failing.delete(kind);
      failing.set(kind, trouble);
    },
    processorAttemptFailed(failed) {
      const trouble = troubleOf(failed, known.trouble?.since);
      // The processor has no partition until it joins its group again.
      setTask('unassigned');
      unread.clear();
      assigned = 0;
      known = { ...known, trouble };
    },
    partitionReadFailed({ topic, partition, ...failed }) {
      const key = keyOf({ topic, partition });
      const trouble = troubleOf(failed, unread.get(key)?.since);
      unread.delete(key);
      unread.set(key, trouble);
    },
    partitionReadAgain: (partition) => unread.delete(keyOf(partition)),
    processorRests: ({ wanted }) => setRest(wanted === 'paused' ? 'paused' : 'unassigned'),
    processorFailed: ({ err }) => setRest('failed', describe(err)),
  } satisfies Partial<Events>;

  return {
    events,
    refreshed: () => refreshed(),
    status(isSilent: boolean): ProcessorStatus {
      const lastFailure = (kind: string) => {
        const failure = lastFailures.get(kind);
        return failure !== undefined && failure.at > isoNow(-FRESH_FAILURE_MS) && !isSilent ? failure : null;
      };
      const wanted = target().state;
      const task = taskOf(wanted, known.task);
      // A paused or stopped processor has no instruments, and "0 of 0 priced" looks like a loss.
      const fresh = wanted === 'running' ? freshness() : null;
      const isReading = task === 'running' && partitions.size >= assigned && unread.size === 0 && !isSilent;
      return {
        ...known,
        ...troubles(),
        name,
        wanted,
        task,
        partitions: [...partitions.values()],
        assigned,
        writerTrouble: writerTroubles.values().next().value ?? null,
        freshness: fresh && shownFreshness(fresh, isReading, lastFailure),
        written: { ...written },
        perMinute: minutes.counts(),
      };
    },
  };
}

/** The latest of these failures, with the first time, the number and the next try of all; null if there are none. */
function summed(troubles: ReadonlyMap<string, Trouble>, part: () => string | null): Trouble | null {
  const all = [...troubles.values()];
  const latest = all.at(-1);
  if (latest === undefined) return null;
  const [since = latest.since] = all.map((one) => one.since).sort();
  const failures = all.reduce((sum, one) => sum + one.failures, 0);
  const { nextTryAt, restartTriesNow } = all.reduce((first, one) => (one.nextTryAt < first.nextTryAt ? one : first));
  return { ...latest, since, failures, part: part(), nextTryAt, restartTriesNow };
}

/** A paused or stopped processor has left its group, even if no event has reported this yet. */
function taskOf(wanted: TargetState, task: TaskState): TaskState {
  if (wanted === 'running' || task === 'failed') return task;
  return wanted === 'paused' ? 'paused' : 'unassigned';
}

/** @param isReading true if all partitions are read; otherwise the number of unread records is unknown */
function shownFreshness(
  { ages: _, kinds, lag, unansweredInputs, ...fresh }: Freshness,
  isReading: boolean,
  lastFailure: (kind: string) => ShownKind['lastFailure'],
): ShownFreshness {
  return {
    ...fresh,
    lag: isReading ? lag : null,
    unansweredInputs: isReading ? unansweredInputs : null,
    kinds: kinds.map(({ ages, ...kind }) => ({ ...kind, ages: ageSteps(ages), lastFailure: lastFailure(kind.kind) })),
  };
}

/** An entry of `ages` counts all prices up to its age. A step counts only prices above the age of the previous entry. */
function ageSteps(ages: Freshness['ages']): readonly AgeStep[] {
  return ages.map(({ atMostMs, instruments }, at) => ({
    atMostSeconds: Number.isFinite(atMostMs) ? atMostMs / 1_000 : null,
    instruments: instruments - (ages[at - 1]?.instruments ?? 0),
  }));
}
