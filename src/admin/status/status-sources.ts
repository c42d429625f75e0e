import { offsetKey, offsetPartition } from '../../kafka/offset-store.ts';
import type { ConnectorEvents, Polled, StreamPlace } from '../../observability/connector-events.ts';
import type { Clock } from '../../support/clock.ts';
import type { WorkerTargets } from '../../worker/target.ts';
import type { SourceStatus, TaskState, Trouble, WalkStatus, Written } from './status.ts';

type SourceEvents = Omit<ConnectorEvents, 'notified' | 'topicCreated' | 'topicDrift' | 'adminListening' | 'stopped'>;

export interface StatusSourcesOptions {
  readonly sources: readonly { readonly name: string; readonly type: string }[];
  readonly targets: WorkerTargets;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  /** An error as text for operators, without secrets. */
  readonly describe: (error: unknown) => string;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Known extends Mutable<Omit<SourceStatus, 'wanted' | 'secondsToRetentionCliff' | 'walk' | 'written'>> {
  cliffMs: number | null;
  walk: Mutable<WalkStatus> | null;
  rowsOfLastWalk: number | null;
  /** What the trouble is about; null: the whole source. */
  heldEndpoint: Polled['endpoint'] | null;
  written: Mutable<Written>;
}

/** What is known of each source, from its events. */
export function createStatusSources(options: StatusSourcesOptions): {
  readonly events: SourceEvents;
  status(): readonly SourceStatus[];
} {
  const { targets, clock, describe } = options;
  const isoNow = (afterMs = 0) => new Date(clock.wallMs() + afterMs).toISOString();
  const all = options.sources.map((source) => nothingKnown(source, isoNow()));
  const byName = new Map(all.map((known) => [known.name, known]));

  /** Events also come from what is no source, such as the topics at the start. */
  const update = (name: string, change: (known: Known) => void) => {
    const known = byName.get(name);
    if (known !== undefined) change(known);
  };
  const setTask =
    (task: TaskState, trace: string | null = null) =>
    (known: Known) => {
      if (known.task !== task) known.changedAt = isoNow();
      Object.assign(known, { task, trace, trouble: null });
    };
  const setPlace = ({ source, since, secondsToRetentionCliff: seconds }: StreamPlace) =>
    update(source, (known) => {
      known.since = since;
      known.cliffMs = seconds === null ? null : clock.monotonicMs() + seconds * 1_000;
    });
  const begin = (source: string, number: number, pages: number) =>
    update(source, (known) => {
      const expectedRows = known.rowsOfLastWalk;
      // A walk that goes on with a new writer, in this process.
      const same = known.walk?.number === number ? known.walk : null;
      const { startedAt, rows } = same ?? { startedAt: isoNow(), rows: 0 };
      known.walk = { number, running: true, startedAt, completedAt: null, pages, rows, expectedRows, gone: null };
    });
  const add = (source: string, more: Partial<Written>) =>
    update(source, ({ written }) => {
      for (const kind of Object.keys(written) as (keyof Written)[]) written[kind] += more[kind] ?? 0;
    });

  return {
    events: {
      replicaJoined({ partitions }) {
        for (const known of all) {
          known.owned = partitions.includes(known.partition);
          if (!known.owned) setTask('unassigned')(known);
        }
      },
      writerOpened({ partition }) {
        for (const known of all) if (known.partition === partition) known.writerTrouble = null;
      },
      writerLost({ partition, err }) {
        for (const known of all) if (known.partition === partition) known.writerTrouble = describe(err);
      },
      sourceStarted(place) {
        update(place.source, setTask('running'));
        setPlace(place);
      },
      schemasRegistered: ({ source }) =>
        update(source, (known) => {
          known.schemasRegistered = true;
        }),
      polled(poll) {
        setPlace(poll);
        update(poll.source, (known) => {
          Object.assign(known, { caughtUp: poll.caughtUp, lastPollAt: isoNow() });
          if (known.heldEndpoint === null || known.heldEndpoint === poll.endpoint) known.trouble = null;
          // The next try has been made and did not fail: otherwise an event would have reported it.
          else if (known.trouble !== null && known.trouble.nextTryAt <= isoNow()) known.trouble = null;
        });
      },
      walkStarted: ({ source, walk }) => begin(source, walk, 0),
      walkResumed: ({ source, walk, pages }) => begin(source, walk, pages),
      pageCommitted({ source, page, rows, records, deadLetters }) {
        add(source, { instruments: records, deadLetters });
        update(source, ({ walk }) => {
          if (walk !== null) Object.assign(walk, { pages: page, rows: walk.rows + rows });
        });
      },
      walkCompleted: ({ source, pages, rows, gone }) =>
        update(source, (known) => {
          known.rowsOfLastWalk = rows;
          if (known.walk !== null) {
            Object.assign(known.walk, { running: false, completedAt: isoNow(), pages, rows, expectedRows: rows, gone });
          }
        }),
      eventsCommitted: ({ source, events, deadLetters }) => add(source, { events, deadLetters }),
      checksCommitted: ({ source, checks, deadLetters }) => add(source, { checks, deadLetters }),
      walkScheduled() {},
      instrumentsDeleted() {},
      answerDiscarded() {},
      attemptFailed: ({ source, endpoint = null, failures, waitMs, err }) =>
        update(source, (known) => {
          known.heldEndpoint = endpoint;
          known.trouble = { failures, message: describe(err), nextTryAt: isoNow(waitMs) } satisfies Trouble;
        }),
      sourcePaused: ({ source }) => update(source, setTask('paused')),
      sourceResumed: ({ source }) => update(source, setTask('running')),
      sourceStopped: ({ source }) => update(source, setTask('unassigned')),
      stateUnreadable() {},
      sourceFailed: ({ source, err }) => update(source, setTask('failed', describe(err))),
    },
    status: () =>
      all.map(({ cliffMs, rowsOfLastWalk: _, heldEndpoint: __, walk, ...known }) => ({
        ...known,
        // A source that has failed, or was stopped, resumes its walk when it starts.
        walk: walk && { ...walk, running: walk.running && ['running', 'paused'].includes(known.task) },
        wanted: targets.of(known.name).state,
        secondsToRetentionCliff: cliffMs === null ? null : Math.round((cliffMs - clock.monotonicMs()) / 1_000),
      })),
  };
}

function nothingKnown({ name, type }: { readonly name: string; readonly type: string }, changedAt: string): Known {
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
    lastPollAt: null,
    trouble: null,
    walk: null,
    rowsOfLastWalk: null,
    heldEndpoint: null,
    written: { instruments: 0, events: 0, checks: 0, deadLetters: 0 },
  };
}
