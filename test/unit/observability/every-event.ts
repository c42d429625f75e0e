import { ConnectorError } from '../../../src/errors.ts';
import {
  type ConnectorEvents,
  DELETION_REASONS,
  DISCARD_REASONS,
  NOTIFICATION_KINDS,
} from '../../../src/observability/connector-events.ts';
import type { Metrics } from '../../../src/observability/metrics.ts';
import type { Freshness, ProcessorEvents } from '../../../src/observability/processor-events.ts';

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
const topic = 'a.instruments';
const err = new ConnectorError('REGISTRY_UNREACHABLE', 'canary-message', { fields: { status: 503 } });
const place = {
  source,
  since: UNBOUNDED.since,
  secondsToRetentionCliff: 600_000,
  secondsToNextWalk: 3_000,
  walksWithoutDeletion: 1,
};
const dead = { deadLetters: 3, deadLettersTooLarge: 1, deadLettersWithoutKey: 1 };
const counted = { ...dead, drift: 1, roundedNumbers: 1, duplicateKeys: 1 };
const kind = 'overview';
const partition = { topic, partition: 3 };

const FRESH = {
  kind,
  priced: 8,
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

const CONNECTOR: { readonly [Name in keyof ConnectorEvents]: (told: ConnectorEvents[Name]) => void } = {
  topicCreated: (told) => told({ topic: 'canary-topic' }),
  topicDrift: (told) => told({ drift: 'canary-topic has another setting' }),
  writerOpened: (told) => told({ partition: 3, transactionalId: UNBOUNDED.transactionalId, durationMs: 12 }),
  // What ends something first, so that its gauges are there at the end.
  sourcePaused: (told) => told({ source }),
  sourceResumed: (told) => told({ source }),
  sourceStopped: (told) => told({ source }),
  sourceFailed: (told) => told({ source, err: new Error('canary-error') }),
  walkScheduled: (told) => told({ source, at: '2026-01-06T12:00:00.000Z' }),
  sourceStarted: (told) => told(place),
  polled: (told) => told({ ...place, endpoint: 'events', rows: 3, caughtUp: true, durationMs: 5 }),
  schemasRegistered: (told) => told({ source }),
  walkCompleted(told) {
    const counts = { added: 4, corrected: 1, unchanged: 1, reEncoded: 1, gone: 1, deadLetters: 1 };
    told({ source, walk: 1, resumed: false, pages: 3, rows: 9, ...counts, durationMs: 100 });
  },
  walkStarted: (told) => told({ source, walk: 1, since: UNBOUNDED.since, why: 'first' }),
  walkResumed: (told) => told({ source, walk: 1, pages: 2, cursor: UNBOUNDED.cursor }),
  pageCommitted: (told) =>
    told({
      source,
      page: 3,
      rows: 8,
      records: 2,
      unchanged: 2,
      ...counted,
      repeatedRows: 1,
      duplicateKeys: 1,
      jsonBytes: 9,
      avroBytes: 5,
      fetchMs: 7,
      commitMs: 8,
      cursor: UNBOUNDED.cursor,
    }),
  eventsCommitted(told) {
    const items = [{ type: 'newissue', name: UNBOUNDED.name, isin: UNBOUNDED.isin, id: UNBOUNDED.id }];
    told({ source, events: 1, ...counted, since: UNBOUNDED.since, commitMs: 3, items });
  },
  instrumentsDeleted: (told) => {
    for (const why of DELETION_REASONS) told({ source, why, instruments: 4 });
  },
  checksCommitted: (told) => told({ source, checks: 2, ...counted, since: UNBOUNDED.since, commitMs: 3 }),
  answerDiscarded: (told) => {
    for (const why of DISCARD_REASONS) told({ source, why });
  },
  notified: (told) => {
    for (const each of NOTIFICATION_KINDS) told({ source, kind: each });
  },
  attemptFailed: (told) => told({ source, failures: 2, waitMs: 500, err }),
  replicaJoined: (told) => told({ partitions: [3], sources: [source] }),
  writerLost: (told) => told({ partition: 3, err }),
  stateUnreadable: (told) => told({ source: 'canary-source', offset: '5', why: 'is no JSON object' }),
  adminListening: (told) => told({ url: 'http://canary-url' }),
  stopped: (told) => told({ reason: 'canary-reason', cpuSeconds: 1.5, peakMemoryBytes: 100 }),
};

const PROCESSOR: { readonly [Name in keyof ProcessorEvents]: (told: ProcessorEvents[Name]) => void } = {
  processorStarted: (told) =>
    told({ groupId: 'canary-group', topics: [topic], kinds: [kind], freshness: () => FRESHNESS }),
  processorJoined: (told) => told({ partitions: 1 }),
  partitionWriterLost: (told) => told({ ...partition, err }),
  partitionAssigned(told) {
    const { transactionalId } = UNBOUNDED;
    told({ ...partition, transactionalId, offset: '77', instruments: 9, durationMs: 20 });
    told({ ...partition, partition: 4, transactionalId, offset: '0', instruments: 9, durationMs: 20 });
  },
  partitionLost: (told) => told({ ...partition, partition: 4, why: 'rebalance' }),
  recordsUnreadable: (told) => told({ ...partition, reason: 'schema', records: 2, firstOffset: UNBOUNDED.cursor }),
  batchPriced: (told) =>
    told({
      ...partition,
      kind,
      items: 10,
      priced: 6,
      records: 6,
      unchanged: 1,
      problems: 2,
      unusable: 1,
      dropped: 1,
      inputs: 12,
      withoutIsin: 1,
      gone: 1,
      postponed: 1,
      deadLetters: 3,
      tombstones: { gone: 1, 'no-price': 2 },
      calls: 2,
      drift: 1,
      roundedNumbers: 1,
      errorsFlagDiffers: 1,
      askMs: 30,
      commitMs: 5,
      prices: [{ instrumentId: UNBOUNDED.id, isin: UNBOUNDED.isin, values: [] }],
    }),
  batchBisected: (told) => told({ kind, items: 10, code: 'BULK_MISMATCH', status: null }),
  batchLimitLearnt: (told) => told({ kind, maxItems: 250 }),
  bulkAttemptFailed: (told) => told({ kind, items: 10, failures: 1, waitMs: 100, err }),
  instrumentFailing: (told) =>
    told({ kind, instrumentId: UNBOUNDED.id, problem: 'status 404', failures: 1, nextTryMs: 60_000 }),
  processorAttemptFailed: (told) => told({ failures: 1, waitMs: 100, err, isMember: true }),
  processorRests: (told) => told({ wanted: 'paused' }),
  processorFailed: (told) => told({ err }),
};

/** Everything that can happen, once; what must never become a label is marked with "canary". */
export function everythingHappens({ events, processorEvents, httpObserver }: Metrics): void {
  tellEach(CONNECTOR, events);
  tellEach(PROCESSOR, processorEvents);
  const client = 'referenceData';
  httpObserver.requested({ client, endpoint: '/v1/instruments', code: '200', durationMs: 40, bytes: 100 });
  httpObserver.heldBack({ client, waitMs: 50 });
  httpObserver.tokenAsked({ client, outcome: 'renewed' });
}

function tellEach<Events>(
  happenings: { readonly [Name in keyof Events]: (told: Events[Name]) => void },
  events: Events,
): void {
  for (const name of Object.keys(happenings) as (keyof Events)[]) happenings[name](events[name]);
}
