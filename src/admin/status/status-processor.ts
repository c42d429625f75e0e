import type { Freshness, ProcessorEvents } from '../../observability/processor-events.ts';
import type { Clock } from '../../support/clock.ts';
import type { TargetState, WorkerTarget } from '../../worker/target.ts';
import type { AgeStep } from '../drawing/age-bars.ts';
import { MinuteCounts } from './minute-counts.ts';
import type { ProcessorStatus, ShownFreshness, TaskState } from './status.ts';

export interface StatusProcessorOptions {
  readonly name: string;
  readonly target: () => WorkerTarget;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
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
  const facts = new ProcessorFacts(clock);
  return {
    events: { ...partitionEvents(facts, describe), ...priceEvents(facts), ...stateEvents(facts, describe) },
    refreshed: () => facts.refreshed(),
    status() {
      const wanted = target().state;
      const { known, partitions, assigned, writerTroubles, freshness, written, minutes } = facts;
      return {
        ...known,
        name,
        wanted,
        task: taskOf(wanted, known.task),
        partitions: [...partitions.values()],
        assigned,
        writerTrouble: writerTroubles.values().next().value ?? null,
        // While it rests it has no instruments, and "0 of 0 priced" would read as a loss.
        freshness: freshness === null || wanted !== 'running' ? null : shownFreshness(freshness()),
        written: { ...written },
        perMinute: minutes.counts(),
      };
    },
  };
}

/** What the events have said so far. */
class ProcessorFacts {
  readonly partitions = new Map<string, { topic: string; partition: number }>();
  readonly writerTroubles = new Map<string, string>();
  readonly written = { records: 0, deadLetters: 0 };
  readonly minutes: MinuteCounts;
  readonly known: Mutable<Pick<ProcessorStatus, 'task' | 'trace' | 'changedAt' | 'lastBatchAt' | 'trouble'>>;
  assigned = 0;
  freshness: (() => Freshness) | null = null;
  refreshed: () => Promise<void> = async () => {};
  readonly #clock: StatusProcessorOptions['clock'];

  constructor(clock: StatusProcessorOptions['clock']) {
    this.#clock = clock;
    this.minutes = new MinuteCounts(clock);
    this.known = { task: 'unassigned', trace: null, changedAt: this.isoNow(), lastBatchAt: null, trouble: null };
  }

  isoNow(afterMs = 0): string {
    return new Date(this.#clock.wallMs() + afterMs).toISOString();
  }

  setTask(task: TaskState, trace: string | null = null): void {
    if (this.known.task !== task) this.known.changedAt = this.isoNow();
    Object.assign(this.known, { task, trace, trouble: null });
  }

  setTrouble(failures: number, waitMs: number, message: string): void {
    this.known.trouble = { failures, message, nextTryAt: this.isoNow(waitMs) };
  }
}

type PartitionEvents = 'processorJoined' | 'partitionAssigned' | 'partitionLost' | 'partitionWriterLost';

function partitionEvents(
  facts: ProcessorFacts,
  describe: StatusProcessorOptions['describe'],
): Pick<ProcessorEvents, PartitionEvents> {
  const keyOf = ({ topic, partition }: { topic: string; partition: number }) => `${topic}-${partition}`;
  const { partitions, writerTroubles } = facts;
  return {
    processorJoined(joined) {
      facts.assigned = joined.partitions;
      facts.setTask('running');
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
  };
}

type PriceEvents = 'recordsUnreadable' | 'batchPriced' | 'batchBisected' | 'batchLimitLearnt' | 'instrumentFailing';

function priceEvents(facts: ProcessorFacts): Pick<ProcessorEvents, PriceEvents> {
  const { written, minutes, known } = facts;
  return {
    recordsUnreadable() {},
    batchPriced({ records, deadLetters }) {
      written.records += records;
      written.deadLetters += deadLetters;
      minutes.add(records);
      known.lastBatchAt = facts.isoNow();
      known.trouble = null;
    },
    batchBisected() {},
    batchLimitLearnt() {},
    instrumentFailing() {},
  };
}

type StateEvents = Exclude<keyof ProcessorEvents, PartitionEvents | PriceEvents>;

function stateEvents(
  facts: ProcessorFacts,
  describe: StatusProcessorOptions['describe'],
): Pick<ProcessorEvents, StateEvents> {
  return {
    processorStarted(event) {
      facts.freshness = event.freshness;
      if (event.refreshed) facts.refreshed = event.refreshed;
      facts.setTask('unassigned');
    },
    bulkAttemptFailed: ({ failures, waitMs, err }) => facts.setTrouble(failures, waitMs, describe(err)),
    processorAttemptFailed({ failures, waitMs, err, isMember }) {
      if (!isMember) facts.setTask('unassigned');
      facts.setTrouble(failures, waitMs, describe(err));
    },
    processorRests: ({ wanted }) => facts.setTask(wanted === 'paused' ? 'paused' : 'unassigned'),
    processorFailed: ({ err }) => facts.setTask('failed', describe(err)),
  };
}

/** A processor that does not run has left its group, whatever it did last. */
function taskOf(wanted: TargetState, task: TaskState): TaskState {
  if (wanted === 'running' || task === 'failed') return task;
  return wanted === 'paused' ? 'paused' : 'unassigned';
}

function shownFreshness({ ages: _, kinds, ...fresh }: Freshness): ShownFreshness {
  return { ...fresh, kinds: kinds.map(({ ages, ...kind }) => ({ ...kind, ages: ageSteps(ages) })) };
}

/** Counts up to each bound as counts of each step: that is what people look at. */
function ageSteps(ages: Freshness['ages']): readonly AgeStep[] {
  return ages.map(({ atMostMs, instruments }, at) => ({
    atMostSeconds: Number.isFinite(atMostMs) ? atMostMs / 1_000 : null,
    instruments: instruments - (ages[at - 1]?.instruments ?? 0),
  }));
}
