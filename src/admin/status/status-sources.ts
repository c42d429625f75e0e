import type { SourceSettings } from '../../config/settings.ts';
import { ConnectorError } from '../../errors.ts';
import { offsetKey, offsetPartition } from '../../kafka/offset-store.ts';
import type { Events, SourceStarted, StreamPlace } from '../../observe/events.ts';
import type { Clock } from '../../support/clock.ts';
import type { WorkerTargets } from '../../worker/target.ts';
import { MinuteCounts } from './minute-counts.ts';
import {
  type SourceStatus,
  type TaskState,
  TRIED_WITHIN_MS,
  type Trouble,
  type WalkStatus,
  type Written,
} from './status.ts';

const OF_LIST = 'requests of the list';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

type Derived =
  | ('wanted' | 'isRead' | 'secondsToRetentionCliff' | 'secondsToNextWalk' | 'walk' | 'written' | 'perMinute')
  | ('trouble' | 'otherTrouble');

/** `isNow`: false after the end of the task that retried it. The next task goes on with its age. */
interface Failing {
  readonly trouble: Trouble | null;
  readonly isNow: boolean;
}

interface Known extends Mutable<Omit<SourceStatus, Derived>> {
  /** `cliffMs`: when unread events expire. `nextWalkMs`: when the next walk begins. Both are monotonic times. */
  cliffMs: number | null;
  nextWalkMs: number | null;
  /** The failures of the requests of the list, and all other failures, since the last success of the same work. */
  list: Failing;
  all: Failing;
  /** When the pause began; null if no operator has paused the source. A lost writer interrupts the task, not the pause. */
  pausedAt: string | null;
  walk: Mutable<WalkStatus> | null;
  rowsOfLastWalk: number | null;
  written: Mutable<Written>;
  minutes: MinuteCounts;
}

/** Learns the status of all sources from the events of the log (observe/events.ts). */
export function createStatusSources(options: {
  readonly sources: readonly Pick<SourceSettings, 'name' | 'type'>[];
  readonly targets: WorkerTargets;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly describe: (error: unknown, source?: string) => string;
}) {
  const { sources, targets, clock, describe } = options;
  const isoNow = (afterMs = 0) => new Date(clock.wallMs() + afterMs).toISOString();
  const all = sources.map(
    ({ name, type }): Known => ({
      name,
      type,
      task: 'unassigned',
      trace: null,
      changedAt: isoNow(),
      schemasRegistered: false,
      partition: offsetPartition(offsetKey(name, type)),
      owned: null,
      ownedAt: null,
      writerTrouble: null,
      ...nothingSeen(),
      ...NOTHING_FAILS,
      pausedAt: null,
      written: { instruments: 0, items: 0, deadLetters: 0 },
      minutes: new MinuteCounts(clock),
    }),
  );
  const byName = new Map(all.map((known) => [known.name, known]));

  function update(name: string, change: (known: Known) => void): void {
    const known = byName.get(name);
    if (known !== undefined) change(known);
  }

  function setTask(known: Known, task: TaskState, trace: string | null = null): void {
    // A restart that failed again is a new failure.
    if (known.task !== task || task === 'failed') known.changedAt = isoNow();
    const [list, all] = [known.list, known.all].map((one) => ({ ...one, isNow: false }));
    Object.assign(known, { task, trace, list, all });
  }

  /** A task that does not run until an operator acts has no outage. */
  function setRest(known: Known, task: TaskState, trace: string | null = null): void {
    setTask(known, task, trace);
    Object.assign(known, NOTHING_FAILS);
  }

  function setWriterTrouble(partition: number, writerTrouble: string | null): void {
    for (const known of all) if (known.partition === partition) known.writerTrouble = writerTrouble;
  }

  function setPlace({ source, since, ...place }: StreamPlace): void {
    const { providerEndsAt = null, walksWithoutDeletion = null, secondsToNextWalk = null } = place;
    const moment = (seconds: number | null) => (seconds === null ? null : clock.monotonicMs() + seconds * 1_000);
    const [cliffMs, nextWalkMs] = [moment(place.secondsToRetentionCliff), moment(secondsToNextWalk)];
    update(source, (known) =>
      Object.assign(known, { since, providerEndsAt, walksWithoutDeletion, cliffMs, nextWalkMs }),
    );
  }

  /** Restores the newest walk from the committed offset. After a restart, only this offset names the walk. */
  function recallWalk(known: Known, { walk: number, ...recalled }: NonNullable<SourceStarted['walk']>): void {
    const { startedAt, pages, rows, gone } = recalled;
    if (gone !== null) known.rowsOfLastWalk ??= rows;
    if (known.walk?.number === number) {
      // The event `walkResumed` has already reported this walk.
      if (startedAt < known.walk.startedAt) known.walk.startedAt = startedAt;
      known.walk.rows = Math.max(known.walk.rows, rows);
      return;
    }
    const expectedRows = known.rowsOfLastWalk;
    const recalledWalk = { number, running: false, startedAt, listAt: null, completedAt: null };
    known.walk = { ...recalledWalk, pages, rows, expectedRows, gone, refused: null };
  }

  function beginWalk(source: string, number: number, pages: number, waitMs: number): void {
    update(source, (known) => {
      const listAt = isoNow(waitMs);
      const expectedRows = known.rowsOfLastWalk;
      // The walk is known already if the writer was opened again, or if `recallWalk` restored the walk.
      const same = known.walk?.number === number ? known.walk : null;
      const { startedAt, rows } = same ?? { startedAt: isoNow(), rows: 0 };
      const begun = { number, running: true, startedAt, listAt, completedAt: null };
      known.walk = { ...begun, pages, rows, expectedRows, gone: null, refused: null };
    });
  }

  function addWritten(source: string, more: Partial<Written>): void {
    update(source, ({ written, minutes }) => {
      for (const kind of Object.keys(written) as (keyof Written)[]) written[kind] += more[kind] ?? 0;
      minutes.add(more.items ?? 0);
    });
  }

  const events = {
    replicaJoined({ partitions }) {
      for (const known of all) {
        const owned = partitions.includes(known.partition);
        // The loss of a writer during an earlier assignment says nothing about this one.
        if (owned && known.owned !== true) known.writerTrouble = null;
        known.owned = owned;
        // A process that only joins the group again has had the source before.
        if (owned) known.ownedAt ??= isoNow();
        if (owned) continue;
        // Another replica runs the source, so earlier facts say nothing about the current offset.
        setRest(known, 'unassigned');
        Object.assign(known, nothingSeen(), { ownedAt: null, pausedAt: null });
      }
    },
    writerOpened: ({ partition }) => setWriterTrouble(partition, null),
    writerLost: ({ partition, err }) => setWriterTrouble(partition, describe(err)),
    polled(poll) {
      setPlace(poll);
      update(poll.source, (known) => {
        // A response of the list says nothing about the stream.
        if (poll.endpoint === 'instruments') {
          known.list = NOTHING_FAILS.list;
          return;
        }
        known.lastPollAt = isoNow();
        known.refusedAt = null;
        known.caughtUp = poll.caughtUp;
        if (poll.caughtUp) known.caughtUpAt = known.lastPollAt;
        // A failed request to the list may never be repeated. So its failure is hidden five minutes after its retry was due.
        const isOver = (known.list.trouble?.nextTryAt ?? '') <= isoNow(-TRIED_WITHIN_MS);
        if (isOver) known.list = NOTHING_FAILS.list;
        known.all = NOTHING_FAILS.all;
      });
    },
    responseDiscarded({ source, why }) {
      if (why !== 'refused') return;
      update(source, (known) => {
        known.refusedAt ??= isoNow();
        known.all = NOTHING_FAILS.all;
      });
    },
    // Each event in the stream of an instruments source writes its instrument or a tombstone.
    streamCommitted: ({ source, items, deadLetters, isAgain = false }) =>
      addWritten(source, { items, instruments: isAgain ? 0 : items, deadLetters }),
    attemptFailed({ source, part: where, endpoint, failures, waitMs, err }) {
      const isLeft = where === 'replicas';
      for (const known of all) {
        // If this replica has left the group, it runs no source.
        if (isLeft ? known.task === 'failed' || known.owned === false : known.name !== source) continue;
        const isOfList = endpoint === 'instruments';
        // A request of the list that was under way when the task ended is not repeated.
        if (isOfList && known.task !== 'running') continue;
        if (isLeft) setTask(known, 'unassigned');
        if (isLeft) Object.assign(known, { owned: null, writerTrouble: null });
        const isRegistry = err instanceof ConnectorError && /^(REGISTRY|SCHEMA)_/.test(err.code);
        const part = isOfList ? (isRegistry ? 'records of the list' : OF_LIST) : null;
        const restartTriesNow =
          !isLeft && part === null && !(err instanceof ConnectorError && err.retryAfterMs !== undefined);
        const work = isOfList ? 'list' : 'all';
        const times = { since: known[work].trouble?.since ?? isoNow(), nextTryAt: isoNow(waitMs) };
        const trouble = { ...times, part, failures, message: describe(err, known.name), restartTriesNow };
        known[work] = { trouble, isNow: true };
      }
    },
    walkStarted: ({ source, walk, waitMs }) => beginWalk(source, walk, 0, waitMs),
    walkResumed: ({ source, walk, pages, waitMs }) => beginWalk(source, walk, pages, waitMs),
    pageCommitted({ source, page, rows, records, deadLetters }) {
      addWritten(source, { instruments: records, deadLetters });
      update(source, ({ walk }) => {
        if (walk !== null) Object.assign(walk, { listAt: null, pages: page, rows: walk.rows + rows });
      });
    },
    walkCompleted({ source, pages, rows, gone }) {
      addWritten(source, { instruments: gone });
      update(source, (known) => {
        const completedAt = isoNow();
        known.rowsOfLastWalk = rows;
        const completed = { running: false, completedAt, pages, rows, expectedRows: rows, gone };
        if (known.walk !== null) Object.assign(known.walk, completed);
      });
    },
    notified({ source, kind, text }) {
      if (kind === 'shrinkRefused' || kind === 'deletionSkipped')
        update(source, ({ walk }) => walk && Object.assign(walk, { refused: text }));
    },
    sourceStarted(started) {
      update(started.source, (known) => {
        if (started.since !== known.since) Object.assign(known, { refusedAt: null, caughtUpAt: null });
      });
      setPlace(started);
      update(started.source, (known) => {
        setTask(known, 'running');
        Object.assign(known, { changedAt: isoNow(), caughtUp: null });
        if (targets.of(started.source).state !== 'paused') known.pausedAt = null;
        if (started.walk) recallWalk(known, started.walk);
      });
    },
    schemasRegistered: ({ source }) => update(source, (known) => Object.assign(known, { schemasRegistered: true })),
    sourcePaused({ source }) {
      update(source, (known) => {
        setRest(known, 'paused');
        known.pausedAt ??= known.changedAt;
        known.changedAt = known.pausedAt;
      });
    },
    sourceResumed({ source }) {
      update(source, (known) => {
        setTask(known, 'running');
        Object.assign(known, { caughtUp: null, pausedAt: null });
      });
    },
    sourceStopped({ source }) {
      update(source, (known) => {
        setTask(known, 'unassigned');
        if (targets.of(source).state !== 'stopped') return;
        setRest(known, 'unassigned');
        known.pausedAt = null;
        // When an operator resumes it, the source begins to wait for its task. A restart leaves it stopped.
        const changed = () => {
          const target = targets.of(source);
          if (target.state === 'stopped') target.changed.addEventListener('abort', changed, { once: true });
          else if (known.task === 'unassigned') known.changedAt = isoNow();
        };
        targets.of(source).changed.addEventListener('abort', changed, { once: true });
      });
    },
    sourceFailed: ({ source, err }) => update(source, (known) => setRest(known, 'failed', describe(err, source))),
  } satisfies Partial<Events>;

  /** @param kafkaAnsweredAt the time of Kafka's last answer; null if Kafka is not silent */
  function status(kafkaAnsweredAt: string | null): readonly SourceStatus[] {
    const nowMs = clock.monotonicMs();
    const secondsTo = (ms: number | null) => (ms === null ? null : Math.round((ms - nowMs) / 1_000));
    return all.map(
      ({ cliffMs, nextWalkMs, rowsOfLastWalk: _, pausedAt: __, minutes, walk, list, all: most, ...known }) => {
        const { task, writerTrouble, refusedAt, caughtUp, caughtUpAt } = known;
        const [ofAll, ofList] = [most, list].map(({ trouble, isNow }) => (isNow ? trouble : null)) as [
          Trouble | null,
          Trouble | null,
        ];
        // A failed or stopped source continues its walk only after its next start.
        const mayWalk = ['running', 'paused'].includes(task);
        // If only the list fails, the stream is still read.
        const isHeld = (writerTrouble ?? refusedAt ?? ofAll) !== null;
        const isRead = task === 'running' && !isHeld && kafkaAnsweredAt === null;
        const seenAt = [caughtUpAt, kafkaAnsweredAt].filter((instant) => instant !== null).sort()[0] ?? null;
        return {
          ...known,
          trouble: ofAll ?? ofList,
          otherTrouble: ofAll && ofList,
          // If another replica runs the source, that replica opens the writer.
          writerTrouble: known.owned === false ? null : writerTrouble,
          isRead,
          caughtUp: caughtUp === true && !isRead ? null : caughtUp,
          caughtUpAt: caughtUpAt && seenAt,
          walk: walk && { ...walk, running: walk.running && task === 'running' },
          wanted: targets.of(known.name).state,
          secondsToRetentionCliff: refusedAt === null ? secondsTo(cliffMs) : null,
          secondsToNextWalk: mayWalk ? secondsTo(nextWalkMs) : null,
          walksWithoutDeletion: mayWalk ? known.walksWithoutDeletion : null,
          perMinute: minutes.counts(),
        };
      },
    );
  }

  return { events, status };
}

const NOTHING_FAILS = { list: { trouble: null, isNow: false }, all: { trouble: null, isNow: false } } as const;

function nothingSeen() {
  return {
    since: null,
    caughtUp: null,
    providerEndsAt: null,
    refusedAt: null,
    caughtUpAt: null,
    cliffMs: null,
    nextWalkMs: null,
    walksWithoutDeletion: null,
    lastPollAt: null,
    walk: null,
    rowsOfLastWalk: null,
  };
}
