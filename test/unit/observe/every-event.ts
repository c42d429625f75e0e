import { ConnectorError } from '../../../src/errors.ts';
import { offsetKey, offsetPartition } from '../../../src/kafka/offset-store.ts';
import {
  DELETION_REASONS,
  DISCARD_REASONS,
  type Events,
  type Freshness,
  NOTIFICATION_KINDS,
} from '../../../src/observe/events.ts';
import type { Metrics } from '../../../src/observe/metrics.ts';

/** What may stand in an event and in a log line, but never in a label. */
export const UNBOUNDED = {
  since: 'canary-since',
  id: 'canary-id',
  isin: 'canary-isin',
  name: 'canary-name',
  transactionalId: 'canary-transactional-id',
  cursor: 'canary-cursor',
} as const;

const source = 'instruments';
const OWN_PARTITION = offsetPartition(offsetKey(source, 'instruments'));
const topic = 'a.instruments';
const err = new ConnectorError('REGISTRY_UNREACHABLE', 'canary-message', { fields: { status: 503 } });
const place = {
  source,
  since: UNBOUNDED.since,
  secondsToRetentionCliff: 600_000,
  secondsToNextWalk: 3_000,
  walksWithoutDeletion: 1,
};
const dead = { deadLetters: 3, deadLettersTooLarge: 0, deadLettersWithoutKey: 1 };
const counted = { ...dead, drift: 5, roundedNumbers: 6, duplicateKeys: 7 };
const kind = 'overview';
const partition = { topic, partition: 3 };

/** A page of a walk, with numbers that differ. */
export const PAGE = {
  ...{ source, page: 3, rows: 10, records: 4, notWritten: 3, repeatedRows: 1, ...counted },
  ...{ jsonBytes: 9, fetchMs: 700, commitMs: 80, cursor: UNBOUNDED.cursor },
};

const FRESH = {
  kind,
  priced: 8,
  waiting: 1,
  repaid: 2,
  ageP50Ms: 1_500,
  ageP99Ms: 60_000,
  ageMaxMs: 61_000,
  ages: [
    { atMostMs: 60_000, instruments: 7 },
    { atMostMs: Number.POSITIVE_INFINITY, instruments: 8 },
  ],
  overdue: 2,
  pulled: 1,
  failing: { 'status 404': 1, 'refused 400': 1, mismatch: 1, 'status 123456789': 2, 'canary-problem': 3 },
} as const;

export const FRESHNESS: Freshness = {
  ...FRESH,
  kinds: [FRESH, { ...FRESH, kind: 'daily', priced: 4, overdue: 5, failing: { mismatch: 6 } }],
  instruments: 9,
  unreadable: 3,
  unansweredInputs: 4,
  lag: 5,
};

const EVENTS: { readonly [Name in keyof Events]: (emit: Events[Name]) => void } = {
  topicCreated: (emit) => emit({ topic: 'canary-topic' }),
  topicDrift: (emit) => emit({ drift: 'canary-topic has another setting' }),
  writerOpened: (emit) => emit({ partition: 3, transactionalId: UNBOUNDED.transactionalId, durationMs: 12 }),
  // What ends something first, so that its gauges are there at the end.
  attemptFailed: (emit) => {
    emit({ source, failures: 2, waitMs: 500, err });
    emit({ part: 'topics', failures: 1, waitMs: 500, err });
  },
  replicaJoined: (emit) => emit({ partitions: [OWN_PARTITION], sources: [source] }),
  sourcePaused: (emit) => emit({ source }),
  sourceResumed: (emit) => emit({ source }),
  sourceStopped: (emit) => emit({ source }),
  sourceFailed: (emit) => emit({ source, err: new Error('canary-error') }),
  sourceStarted: (emit) => emit(place),
  responseDiscarded: (emit) => {
    for (const why of DISCARD_REASONS) emit({ source, why });
  },
  polled: (emit) => emit({ ...place, endpoint: 'events', rows: 3, caughtUp: true, durationMs: 5 }),
  schemasRegistered: (emit) => emit({ source }),
  walkCompleted(emit) {
    const counts = { added: 4, corrected: 1, unchanged: 1, reEncoded: 1, gone: 1, deadLetters: 1 };
    emit({ source, walk: 1, resumed: false, pages: 3, rows: 9, ...counts, durationMs: 100 });
  },
  walkStarted: (emit) => emit({ source, walk: 1, since: UNBOUNDED.since, why: 'first', waitMs: 5_000 }),
  walkResumed: (emit) => emit({ source, walk: 1, pages: 2, cursor: UNBOUNDED.cursor, waitMs: 5_000 }),
  pageCommitted: (emit) => emit(PAGE),
  streamCommitted(emit) {
    const events = [{ type: 'newissue', name: UNBOUNDED.name, isin: UNBOUNDED.isin, id: UNBOUNDED.id }];
    emit({ source, record: 'event', items: 1, ...counted, since: UNBOUNDED.since, commitMs: 3, events });
  },
  instrumentsDeleted: (emit) => {
    for (const why of DELETION_REASONS) emit({ source, why, instruments: 4 });
  },
  notified: (emit) => {
    for (const each of NOTIFICATION_KINDS) emit({ source, kind: each, text: 'What has happened.' });
  },
  kafkaSilent: (emit) => emit({ silentMs: 10_000 }),
  kafkaAnswers: (emit) => emit({ silentMs: 20_000 }),
  writerLost: (emit) => emit({ partition: 3, err }),
  stateUnreadable: (emit) => emit({ source: 'canary-source', offset: '5' }),
  adminListening: (emit) => emit({ url: 'http://canary-url' }),
  stopped: (emit) => emit({ reason: 'canary-reason', cpuSeconds: 1.5, peakMemoryBytes: 100 }),
  processorAttemptFailed: (emit) => emit({ failures: 1, waitMs: 100, err }),
  partitionReadFailed: (emit) => emit({ ...partition, failures: 1, waitMs: 100, err }),
  partitionReadAgain: (emit) => emit(partition),
  processorRests: (emit) => emit({ wanted: 'paused' }),
  processorFailed: (emit) => emit({ err }),
  processorStarted: (emit) =>
    emit({ groupId: 'canary-group', topics: [topic], kinds: [kind], freshness: () => FRESHNESS }),
  processorJoined: (emit) => emit({ partitions: 1 }),
  windowsMissed: (emit) =>
    emit({ kind, from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', products: null, command: 'spconnect' }),
  partitionWriterLost: (emit) => emit({ ...partition, err }),
  partitionAssigned(emit) {
    const { transactionalId } = UNBOUNDED;
    emit({ ...partition, transactionalId, offset: '77', instruments: 9, durationMs: 20 });
    emit({ ...partition, partition: 4, transactionalId, offset: '0', instruments: 9, durationMs: 20 });
  },
  partitionLost: (emit) => emit({ ...partition, partition: 4, why: 'rebalance' }),
  recordsUnreadable: (emit) => emit({ ...partition, reason: 'schema', records: 2, firstOffset: UNBOUNDED.cursor }),
  batchPriced(emit) {
    const results = {
      items: 10,
      answered: 9,
      priced: 6,
      records: 6,
      unchanged: 1,
      problems: 2,
      unusable: 1,
      dropped: 1,
      inputs: 12,
    };
    const dead = { deadLetters: 3, deadLettersOfRepaid: 1 };
    const more = { ...dead, tombstones: { gone: 1, 'no-price': 2 } };
    const prices = [{ instrumentId: UNBOUNDED.id, isin: UNBOUNDED.isin, values: [] }];
    emit({ ...partition, kind, ...results, ...more, commitMs: 5, prices });
  },
  bulkAnswered: (emit) => emit({ kind, items: 10, durationMs: 30, drift: 1, roundedNumbers: 1 }),
  batchBisected: (emit) => emit({ kind, items: 10, code: 'BULK_MISMATCH', status: null }),
  batchLimitLearnt: (emit) => emit({ kind, maxItems: 250 }),
  bulkAttemptFailed: (emit) => emit({ kind, items: 10, failures: 1, waitMs: 100, err }),
};

/** Every event, once or for each reason; what must never become a label is marked with "canary". */
export function everyEvent(events: Events): void {
  for (const name of Object.keys(EVENTS) as (keyof Events)[]) EVENTS[name](events[name] as never);
}

/** Everything that can happen. */
export function everythingHappens({ events, httpObserver }: Metrics): void {
  everyEvent(events);
  const client = 'referenceData';
  httpObserver.requested({ client, endpoint: '/v1/instruments', code: '200', durationMs: 40, bytes: 100 });
  httpObserver.heldBack({ client, waitMs: 50 });
  httpObserver.limitShared({ client, processes: 2 });
  httpObserver.clockSeen({ clock: 'kafka', aheadMs: -1_500 });
  httpObserver.tokenAsked({ client, failed: true });
}
