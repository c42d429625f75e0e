import { offsetKey, offsetPartition } from '../../kafka/offset-store.ts';
import type { Polled, SourceStarted, StreamPlace } from '../../observability/connector-events.ts';
import type { Clock } from '../../support/clock.ts';
import type { WorkerTargets } from '../../worker/target.ts';
import { MinuteCounts } from './minute-counts.ts';
import type { SourceStatus, TaskState, WalkStatus, Written } from './status.ts';

export interface SourceFactsOptions {
  readonly sources: readonly { readonly name: string; readonly type: string }[];
  readonly targets: WorkerTargets;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** What follows from the clock, or from elsewhere, when the status is asked for. */
type Derived = 'wanted' | 'secondsToRetentionCliff' | 'secondsToNextWalk' | 'walk' | 'written' | 'perMinute';

export interface Known extends Mutable<Omit<SourceStatus, Derived>> {
  /** When the provider drops unread events, and when the next walk begins, by the monotonic clock. */
  cliffMs: number | null;
  nextWalkMs: number | null;
  walk: Mutable<WalkStatus> | null;
  rowsOfLastWalk: number | null;
  /** What the trouble is about; null: the whole source. */
  heldEndpoint: Polled['endpoint'] | null;
  written: Mutable<Written>;
  /** Events or checks, by the minute. */
  minutes: MinuteCounts;
}

/** What is known of each source; the events change it. */
export class SourceFacts {
  readonly all: readonly Known[];
  readonly #byName: ReadonlyMap<string, Known>;
  readonly #targets: WorkerTargets;
  readonly #clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;

  constructor({ sources, targets, clock }: SourceFactsOptions) {
    this.#targets = targets;
    this.#clock = clock;
    this.all = sources.map((source) => nothingKnown(source, this.isoNow(), new MinuteCounts(clock)));
    this.#byName = new Map(this.all.map((known) => [known.name, known]));
  }

  isoNow(afterMs = 0): string {
    return new Date(this.#clock.wallMs() + afterMs).toISOString();
  }

  /** Events also come from what is no source, such as the topics at the start. */
  update(name: string, change: (known: Known) => void): void {
    const known = this.#byName.get(name);
    if (known !== undefined) change(known);
  }

  setTask(task: TaskState, trace: string | null = null): (known: Known) => void {
    return (known) => {
      if (known.task !== task) known.changedAt = this.isoNow();
      Object.assign(known, { task, trace, trouble: null });
    };
  }

  setPlace({ source, since, secondsToRetentionCliff, secondsToNextWalk = null }: StreamPlace): void {
    const moment = (seconds: number | null) => (seconds === null ? null : this.#clock.monotonicMs() + seconds * 1_000);
    this.update(source, (known) => {
      known.since = since;
      known.cliffMs = moment(secondsToRetentionCliff);
      known.nextWalkMs = moment(secondsToNextWalk);
    });
  }

  /** The newest walk as the committed offset has it: after a restart, nothing else says so. */
  recallWalk(source: string, { walk: number, startedAt, pages, rows, gone }: NonNullable<SourceStarted['walk']>): void {
    this.update(source, (known) => {
      if (gone !== null) known.rowsOfLastWalk ??= rows;
      if (known.walk?.number === number) {
        // One that is resumed was reported before.
        if (startedAt < known.walk.startedAt) known.walk.startedAt = startedAt;
        known.walk.rows = Math.max(known.walk.rows, rows);
        return;
      }
      const expectedRows = known.rowsOfLastWalk;
      known.walk = { number, running: false, startedAt, completedAt: null, pages, rows, expectedRows, gone };
    });
  }

  beginWalk(source: string, number: number, pages: number): void {
    this.update(source, (known) => {
      const expectedRows = known.rowsOfLastWalk;
      // A walk that goes on with a new writer, in this process, or that was recalled.
      const same = known.walk?.number === number ? known.walk : null;
      const { startedAt, rows } = same ?? { startedAt: this.isoNow(), rows: 0 };
      known.walk = { number, running: true, startedAt, completedAt: null, pages, rows, expectedRows, gone: null };
    });
  }

  addWritten(source: string, more: Partial<Written>): void {
    this.update(source, ({ written, minutes }) => {
      for (const kind of Object.keys(written) as (keyof Written)[]) written[kind] += more[kind] ?? 0;
      minutes.add((more.events ?? 0) + (more.checks ?? 0));
    });
  }

  status(): readonly SourceStatus[] {
    const nowMs = this.#clock.monotonicMs();
    const secondsTo = (ms: number | null) => (ms === null ? null : Math.round((ms - nowMs) / 1_000));
    return this.all.map(({ cliffMs, nextWalkMs, rowsOfLastWalk: _, heldEndpoint: __, minutes, walk, ...known }) => ({
      ...known,
      // A source that has failed, or was stopped, resumes its walk when it starts.
      walk: walk && { ...walk, running: walk.running && ['running', 'paused'].includes(known.task) },
      wanted: this.#targets.of(known.name).state,
      secondsToRetentionCliff: secondsTo(cliffMs),
      secondsToNextWalk: secondsTo(nextWalkMs),
      perMinute: minutes.counts(),
    }));
  }
}

function nothingKnown(
  { name, type }: { readonly name: string; readonly type: string },
  changedAt: string,
  minutes: MinuteCounts,
): Known {
  return {
    name,
    type,
    task: 'unassigned',
    trace: null,
    changedAt,
    schemasRegistered: false,
    partition: offsetPartition(offsetKey(name, type)),
    owned: null,
    writerTrouble: null,
    since: null,
    caughtUp: null,
    cliffMs: null,
    nextWalkMs: null,
    lastPollAt: null,
    trouble: null,
    walk: null,
    rowsOfLastWalk: null,
    heldEndpoint: null,
    written: { instruments: 0, events: 0, checks: 0, deadLetters: 0 },
    minutes,
  };
}
