import type { Freshness, ProcessorEvents } from '../../observability/processor-events.ts';
import type { Clock } from '../../support/clock.ts';
import type { TargetState, WorkerTarget } from '../../worker/target.ts';
import type { ProcessorStatus, ShownFreshness, TaskState } from './status.ts';

export interface StatusProcessorOptions {
  readonly name: string;
  readonly target: () => WorkerTarget;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** An error as text for operators, without secrets. */
  readonly describe: (error: unknown) => string;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** What is known of the price processor, from its events. */
export function createStatusProcessor({ name, target, clock, describe }: StatusProcessorOptions): {
  readonly events: ProcessorEvents;
  /** Resolves when what the status says of the prices is new. */
  refreshed(): Promise<void>;
  status(): ProcessorStatus;
} {
  const isoNow = (afterMs = 0) => new Date(clock.wallMs() + afterMs).toISOString();
  const partitions = new Map<string, { topic: string; partition: number }>();
  const writerTroubles = new Map<string, string>();
  let assigned = 0;
  let freshness: (() => Freshness) | null = null;
  let refreshed = async () => {};
  const written = { records: 0, deadLetters: 0 };
  const known: Mutable<Pick<ProcessorStatus, 'task' | 'trace' | 'changedAt' | 'lastBatchAt' | 'trouble'>> = {
    task: 'unassigned',
    trace: null,
    changedAt: isoNow(),
    lastBatchAt: null,
    trouble: null,
  };
  const setTask = (task: TaskState, trace: string | null = null) => {
    if (known.task !== task) known.changedAt = isoNow();
    Object.assign(known, { task, trace, trouble: null });
  };
  const failed = (failures: number, waitMs: number, err: unknown) => {
    known.trouble = { failures, message: describe(err), nextTryAt: isoNow(waitMs) };
  };
  const keyOf = ({ topic, partition }: { topic: string; partition: number }) => `${topic}-${partition}`;
  return {
    events: {
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
        // Until the writer has opened again, nothing of it is priced here.
        partitions.delete(keyOf(lost));
        writerTroubles.set(keyOf(lost), describe(err));
      },
      recordsUnreadable() {},
      batchPriced({ records, deadLetters }) {
        written.records += records;
        written.deadLetters += deadLetters;
        known.lastBatchAt = isoNow();
        known.trouble = null;
      },
      batchBisected() {},
      batchLimitLearnt() {},
      bulkAttemptFailed: ({ failures, waitMs, err }) => failed(failures, waitMs, err),
      instrumentFailing() {},
      processorAttemptFailed({ failures, waitMs, err, isMember }) {
        if (!isMember) setTask('unassigned');
        failed(failures, waitMs, err);
      },
      processorRests: ({ wanted }) => setTask(wanted === 'paused' ? 'paused' : 'unassigned'),
      processorFailed: ({ err }) => setTask('failed', describe(err)),
    },
    refreshed: () => refreshed(),
    status() {
      const wanted = target().state;
      return {
        ...known,
        name,
        wanted,
        task: taskOf(wanted, known.task),
        partitions: [...partitions.values()],
        assigned,
        writerTrouble: writerTroubles.values().next().value ?? null,
        freshness: freshness === null ? null : shownFreshness(freshness()),
        written: { ...written },
      };
    },
  };
}

/** A processor that does not run has left its group, whatever it did last. */
function taskOf(wanted: TargetState, task: TaskState): TaskState {
  if (wanted === 'running' || task === 'failed') return task;
  return wanted === 'paused' ? 'paused' : 'unassigned';
}

function shownFreshness({ ages: _, kinds, ...fresh }: Freshness): ShownFreshness {
  return { ...fresh, kinds: kinds.map(({ ages: __, ...kind }) => kind) };
}
