import { ConnectorError } from '../errors.ts';
import { afterwards } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { type Events, type ResponseCounts, TOMBSTONE_REASONS } from './events.ts';
import type { Meters } from './meters.ts';

type Name = keyof Events;
type Add = Meters['add'];
type Observe = Meters['observe'];

interface Row<Event> {
  readonly level: keyof Log;
  readonly text: string;
  readonly fields?: (event: Event) => object;
  /** If set, a log line each minute sums up these events. The parts: text, field to group by, fields to sum up. */
  readonly minute?: readonly [text: string, of: keyof Event & string, ...counts: (keyof Event & string)[]];
  /** Changes the counters and histograms. Gauges are not changed here: admin/status/status-gauges.ts sets them. */
  readonly count?: (event: Event, add: Add, observe: Observe) => void;
}

const MINUTE_MS = 60_000;
/** At most this many dead letters of a response get their own log line. The response's log line counts all. */
const MOST_DEAD_LINES = 20;
const PRICES = 'prices';
const WALK_RESULTS = ['added', 'corrected', 'unchanged', 'reEncoded', 'gone'] as const;

/** The log line and the metrics of every event, in one table so that they cannot differ. */
const EVENTS: { readonly [Of in Name]: Row<Parameters<Events[Of]>[0]> } = {
  topicCreated: { level: 'info', text: 'topic created' },
  topicDrift: { level: 'warn', text: 'topic differs from the plan' },
  replicaJoined: { level: 'info', text: 'joined the replicas' },
  writerOpened: { level: 'info', text: 'writer opened' },
  sourceStarted: { level: 'info', text: 'source started' },
  schemasRegistered: { level: 'debug', text: 'schemas registered' },
  polled: {
    level: 'debug',
    text: 'poll answered',
    count: ({ source, endpoint, rows }, add) => add('spconnect_rows_received_total', { source, endpoint }, rows),
  },
  walkStarted: { level: 'info', text: 'walk started' },
  walkResumed: { level: 'info', text: 'walk resumed' },
  pageCommitted: {
    level: 'info',
    text: 'page committed',
    fields: withoutZeros,
    count: (page, add, observe) => responseCommitted(page, 'instrument', page.records, add, observe),
  },
  walkCompleted: {
    level: 'info',
    text: 'walk completed',
    fields: withoutZeros,
    count({ source, deadLetters, ...walk }, add) {
      for (const result of WALK_RESULTS) add('spconnect_walk_rows_total', { source, result }, walk[result]);
      add('spconnect_walk_rows_total', { source, result: 'deadLetter' }, deadLetters);
      add('spconnect_records_written_total', { source, record: 'tombstone' }, walk.gone);
    },
  },
  streamCommitted: {
    level: 'debug',
    text: 'stream committed',
    fields: ({ events: _, isAgain, ...response }) => withoutZeros({ ...response, ...(isAgain && { isAgain }) }),
    minute: ['committed during the last minute', 'source', 'items', 'deadLetters'],
    count: (response, add, observe) => responseCommitted(response, response.record, response.items, add, observe),
  },
  instrumentsDeleted: {
    level: 'info',
    text: 'instruments deleted',
    count: ({ source, why: reason, instruments }, add) =>
      add('spconnect_tombstones_total', { source, reason }, instruments),
  },
  responseDiscarded: {
    level: 'warn',
    text: 'stream response discarded, requesting it again',
    count: ({ source, why: reason }, add) => add('spconnect_stream_responses_discarded_total', { source, reason }, 1),
  },
  notified: {
    level: 'warn',
    text: 'notification written',
    count: ({ source, kind }, add) => add('spconnect_notifications_total', { source, kind }, 1),
  },
  attemptFailed: {
    level: 'warn',
    text: 'attempt failed, trying again',
    count({ source, err }, add) {
      if (source !== undefined) add('spconnect_poll_failures_total', { source, code: codeOf(err) }, 1);
    },
  },
  kafkaSilent: { level: 'warn', text: 'Kafka does not answer' },
  kafkaAnswers: { level: 'info', text: 'Kafka answers again' },
  writerLost: {
    level: 'warn',
    text: 'writer lost, opening again',
    count: ({ partition, err }, add) =>
      add('spconnect_writer_lost_total', { partition: String(partition), code: codeOf(err) }, 1),
  },
  sourcePaused: { level: 'info', text: 'source paused' },
  sourceResumed: { level: 'info', text: 'source resumed' },
  sourceStopped: { level: 'info', text: 'source stopped by an operator' },
  stateUnreadable: { level: 'warn', text: 'value of the states topic ignored' },
  sourceFailed: { level: 'error', text: 'source failed, an operator is needed' },
  adminListening: { level: 'info', text: 'admin server listens' },
  stopped: { level: 'info', text: 'stopped' },
  processorStarted: {
    level: 'info',
    text: 'price processor started',
    fields: ({ freshness: _, refreshed: __, ...event }) => event,
  },
  processorJoined: { level: 'info', text: 'price processor joined its group' },
  partitionAssigned: { level: 'info', text: 'partition assigned' },
  partitionLost: { level: 'info', text: 'partition lost' },
  partitionWriterLost: {
    level: 'warn',
    text: 'writer of a partition lost, opening again',
    count: ({ err }, add) => add('spconnect_prices_writer_lost_total', { code: codeOf(err) }, 1),
  },
  recordsUnreadable: {
    level: 'warn',
    text: 'records that cannot be read',
    count: ({ reason, records }, add) => add('spconnect_prices_unreadable_records_total', { reason }, records),
  },
  batchPriced: {
    level: 'debug',
    text: 'batch priced',
    fields: ({ prices: _, ...event }) => event,
    minute: [
      'prices of the last minute',
      'kind',
      ...(['items', 'priced', 'records', 'problems', 'deadLetters'] as const),
    ],
    count(batch, add, observe) {
      const { kind: price, priced, problems, unusable, dropped } = batch;
      // A batch whose calls were all refused, or that made no call, does not count: the provider may be down.
      add('spconnect_prices_batches_total', { price }, batch.answered > 0 ? 1 : 0);
      const items = { priced, problem: problems, unusable, dropped };
      for (const [result, count] of Object.entries(items))
        add('spconnect_prices_items_total', { price, result }, count);
      for (const reason of TOMBSTONE_REASONS) {
        add('spconnect_prices_tombstones_total', { reason }, batch.tombstones[reason] ?? 0);
      }
      observe('spconnect_prices_commit_duration_seconds', { price }, batch.commitMs / 1_000);
    },
  },
  bulkAnswered: {
    level: 'debug',
    text: 'bulk request answered',
    count({ kind: price, durationMs, drift, roundedNumbers }, add, observe) {
      add('spconnect_prices_bulk_calls_total', { price }, 1);
      add('spconnect_drift_fields_total', { source: PRICES }, drift);
      add('spconnect_rounded_numbers_total', { source: PRICES }, roundedNumbers);
      observe('spconnect_prices_ask_duration_seconds', { price }, durationMs / 1_000);
    },
  },
  batchBisected: { level: 'warn', text: 'bulk request divided, requesting its parts' },
  batchLimitLearnt: { level: 'info', text: 'size limit of bulk requests learnt' },
  bulkAttemptFailed: {
    level: 'warn',
    text: 'bulk request failed, trying again',
    count: ({ kind: price, err }, add) => add('spconnect_prices_bulk_failures_total', { price, code: codeOf(err) }, 1),
  },
  windowsMissed: { level: 'warn', text: 'windows of prices were not requested' },
  processorAttemptFailed: {
    level: 'warn',
    text: 'price processor failed, trying again',
    count: ({ err }, add) => add('spconnect_prices_attempts_failed_total', { code: codeOf(err) }, 1),
  },
  partitionReadFailed: {
    level: 'warn',
    text: 'instruments cannot be read, trying again',
    count: ({ err }, add) => add('spconnect_prices_attempts_failed_total', { code: codeOf(err) }, 1),
  },
  partitionReadAgain: { level: 'info', text: 'instruments are read again' },
  processorRests: { level: 'info', text: 'price processor paused or stopped by an operator' },
  processorFailed: { level: 'error', text: 'price processor failed, an operator is needed' },
};

function responseCommitted(
  response: ResponseCounts & { readonly source: string; readonly commitMs: number },
  record: string,
  records: number,
  add: Add,
  observe: Observe,
): void {
  const { source, deadLetters, deadLettersTooLarge: tooLarge, deadLettersWithoutKey: withoutKey } = response;
  add('spconnect_records_written_total', { source, record }, records);
  const reasons = { tooLarge, withoutKey, wrongType: deadLetters - tooLarge - withoutKey };
  for (const [reason, count] of Object.entries(reasons)) add('spconnect_dead_letters_total', { source, reason }, count);
  add('spconnect_drift_fields_total', { source }, response.drift);
  add('spconnect_rounded_numbers_total', { source }, response.roundedNumbers);
  add('spconnect_duplicate_keys_total', { source }, response.duplicateKeys);
  observe('spconnect_commit_duration_seconds', { source }, response.commitMs / 1_000);
}

function codeOf(err: unknown): string {
  return err instanceof ConnectorError ? err.code : 'OTHER';
}

function eachEvent(react: (name: Name) => (event: never) => void): Events {
  return Object.fromEntries((Object.keys(EVENTS) as Name[]).map((name) => [name, react(name)])) as unknown as Events;
}

/** Passes each event to all sinks that accept the event, in the order of `sinks`. */
export function toAll(sinks: readonly Partial<Events>[]): Events {
  return eachEvent((name) => (event) => {
    for (const sink of sinks) sink[name]?.(event);
  });
}

/** Counts events in metrics. The log shows the same numbers for each event. */
export function countEvents({ add, observe }: Pick<Meters, 'add' | 'observe'>): Events {
  return eachEvent((name) => (event: object) => {
    (EVENTS[name] as Row<object>).count?.(event, add, observe);
    // A failure of the registry has no separate event: it is the `err` of another event.
    const code = 'err' in event ? codeOf(event.err) : '';
    if (/^(REGISTRY|SCHEMA)_/.test(code)) add('spconnect_registry_failures_total', { code }, 1);
  });
}

/** Events as log lines: a fixed message, with facts as fields. One line a minute sums up frequent events. */
export function logEvents(log: Log, later = afterwards): Events {
  const sums = new Map<string, { readonly text: string; readonly fields: Record<string, unknown> }>();
  const report = () => {
    for (const { text, fields } of sums.values()) log.info(fields, text);
    sums.clear();
  };
  const addUp = (
    [text, of, ...counts]: NonNullable<Row<never>['minute']>,
    event: Readonly<Record<string, unknown>>,
  ) => {
    if (sums.size === 0) later(MINUTE_MS, report);
    const { fields } = sums.get(`${text} ${event[of]}`) ?? { fields: { [of]: event[of], batches: 0 } };
    const added: Readonly<Record<string, unknown>> = { ...event, batches: 1 };
    for (const name of ['batches', ...counts]) fields[name] = Number(fields[name] ?? 0) + Number(added[name]);
    sums.set(`${text} ${event[of]}`, { text, fields });
  };
  return eachEvent((name) => {
    const { level, text, fields = (event) => event, minute } = EVENTS[name] as unknown as Row<Record<string, unknown>>;
    return (event: Readonly<Record<string, unknown>>) => {
      if (minute) addUp(minute, event);
      // The process ends before this minute is over, so the sums are reported now.
      if (name === 'stopped') report();
      const { dead = [], ...logged } = fields(event) as Pick<ResponseCounts, 'dead'>;
      log[level](roundedDurations(logged), text);
      for (const row of dead.slice(0, MOST_DEAD_LINES)) log.warn({ source: event.source, ...row }, 'dead letter');
    };
  });
}

/** Leaves out counts of 0, because most counts are 0. */
function withoutZeros(event: object): object {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== 0));
}

/** Durations in whole milliseconds, because fractions only make lines longer. */
function roundedDurations(event: object): Record<string, unknown> {
  const entries = Object.entries(event).map(([name, value]) => [
    name,
    name.endsWith('Ms') && typeof value === 'number' ? Math.round(value) : value,
  ]);
  return Object.fromEntries(entries);
}
