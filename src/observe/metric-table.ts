import {
  DELETION_REASONS,
  DISCARD_REASONS,
  NOTIFICATION_KINDS,
  TOMBSTONE_REASONS,
  UNREADABLE_REASONS,
} from './events.ts';

/**
 * One metric. Its name begins with `spconnect_`, and names the unit of times and sizes. The values of labels come from a
 * short list in the settings or the code, never from data. `source`: the name of a source in the settings. `client`:
 * referenceData or marketData; for tokens also schemaRegistry and kafka.sasl. `price`: a kind of prices, or one of its
 * series, such as daily/OHLC. `endpoint`: a path without ids and query; for rows, the kind of response.
 */
export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** All possible values of some labels. With these values, a counter is 0 before its first increase. */
  readonly values: Readonly<Record<string, readonly string[]>>;
}

function ofType<const Type extends MetricDefinition['type']>(type: Type) {
  return <const Labels extends readonly string[]>(
    labels: Labels,
    help: string,
    values: MetricDefinition['values'] = {},
  ) => ({ type, labels, help, values });
}

const [counter, gauge, histogram] = [ofType('counter'), ofType('gauge'), ofType('histogram')];
export const STATUSES = ['unassigned', 'running', 'paused', 'stopped', 'failed'] as const;

export const SOURCE_METRICS = {
  spconnect_source_status: gauge(
    ['source', 'status'],
    'Status of the source: 1 for the current status, 0 for all others; absent while its start waits for Kafka.',
    { status: STATUSES },
  ),
  spconnect_source_caught_up: gauge(
    ['source'],
    '1: the stream was read to its end; 0: not; absent: before the first poll, or it was read to its end and is not read now.',
  ),
  spconnect_source_last_poll_timestamp_seconds: gauge(
    ['source'],
    'Time of the last answered and committed poll of the stream, in seconds since 1970; before it: when this process got the source, or its own start.',
  ),
  spconnect_seconds_to_retention_cliff: gauge(
    ['source'],
    'Seconds until the provider drops unread events, if no further poll succeeds; negative after that time; absent from its refusal of the offset to the next good poll.',
  ),
  spconnect_rows_received_total: counter(
    ['source', 'endpoint'],
    'Rows of all responses: instruments of list pages, events and checks.',
  ),
  spconnect_records_written_total: counter(
    ['source', 'record'],
    'Committed records by kind. An event counts once, although its instrument is written too.',
  ),
  spconnect_tombstones_total: counter(
    ['source', 'reason'],
    'Instruments that were deleted from the topic: a walk did not find them, or an event deleted them.',
    { reason: DELETION_REASONS },
  ),
  spconnect_dead_letters_total: counter(
    ['source', 'reason'],
    'Rows that could not become a record and went to the dead letters: wrongType, tooLarge or withoutKey.',
    { reason: ['wrongType', 'tooLarge', 'withoutKey'] },
  ),
  spconnect_drift_fields_total: counter(
    ['source'],
    'Fields that the schema does not know, kept in extras. For prices also repeated keys, and unknown members of a response.',
  ),
  spconnect_rounded_numbers_total: counter(
    ['source'],
    'Decimals with more digits than the schema has, rounded in their field and kept verbatim in extras.',
  ),
  spconnect_duplicate_keys_total: counter(
    ['source'],
    'Keys that were repeated in one JSON object. The last value counts.',
  ),
  spconnect_commit_duration_seconds: histogram(['source'], 'Seconds that a transaction took.'),
  spconnect_poll_failures_total: counter(
    ['source', 'code'],
    'Polls that failed and were tried again, by the code of the error. For commits, see spconnect_writer_lost_total.',
  ),
  spconnect_stream_responses_discarded_total: counter(
    ['source', 'reason'],
    'Stream responses that were not used: they contradict our offset, or are empty while our offset is in doubt.',
    { reason: DISCARD_REASONS },
  ),
  spconnect_notifications_total: counter(
    ['source', 'kind'],
    'Notifications of the running source, except of completed walks and its failure. Commands and prices are not counted.',
    { kind: NOTIFICATION_KINDS },
  ),
  spconnect_walk_running: gauge(['source'], '1 while a walk runs, else 0.'),
  spconnect_walk_pages: gauge(['source'], 'Pages of the running walk, or of the last walk.'),
  spconnect_walks_without_deletion: gauge(
    ['source'],
    'Consecutive walks that could not determine which instruments were removed.',
  ),
  spconnect_seconds_to_next_walk: gauge(
    ['source'],
    'Seconds until the next regular walk; negative if the walk is overdue.',
  ),
  spconnect_walk_rows_total: counter(['source', 'result'], 'Rows of completed walks, by result.', {
    result: ['added', 'corrected', 'unchanged', 'reEncoded', 'gone', 'deadLetter'],
  }),
};

export const PRICE_METRICS = {
  spconnect_prices_status: gauge(
    ['status'],
    'Status of the price processor: 1 for the current status, 0 for all others; absent while its start waits for Kafka.',
    { status: STATUSES },
  ),
  spconnect_prices_partitions: gauge([], 'Partitions of instruments topics whose prices this process requests.'),
  spconnect_prices_writer_lost_total: counter(
    ['code'],
    'Number of times that a partition lost its writer and opened a new writer, by the code of the error.',
  ),
  spconnect_prices_batches_total: counter(['price'], 'Batches of instruments whose responses were committed.'),
  spconnect_prices_items_total: counter(
    ['price', 'result'],
    'Requested instruments: priced, problem (no price), unusable (a wrong type), dropped (deleted meanwhile).',
    { result: ['priced', 'problem', 'unusable', 'dropped'] },
  ),
  spconnect_prices_unreadable_records_total: counter(
    ['reason'],
    'Records that cannot be read: the schema is unknown, or the value is not an instrument or not a price.',
    { reason: UNREADABLE_REASONS },
  ),
  spconnect_prices_tombstones_total: counter(['reason'], 'Tombstones on the topic of latest prices, by the reason.', {
    reason: TOMBSTONE_REASONS,
  }),
  spconnect_prices_bulk_calls_total: counter(
    ['price'],
    'Answered bulk calls, including repeated calls and parts of divided calls.',
  ),
  spconnect_prices_bulk_failures_total: counter(
    ['price', 'code'],
    'Bulk calls that failed as a whole and were tried again, by the code of the error.',
  ),
  spconnect_prices_attempts_failed_total: counter(
    ['code'],
    'Runs of the price processor that failed and were tried again, by the code of the error.',
  ),
  spconnect_prices_ask_duration_seconds: histogram(['price'], 'Seconds that an answered bulk call took.'),
  spconnect_prices_commit_duration_seconds: histogram(['price'], 'Seconds that the transaction of a batch took.'),
  spconnect_prices_instruments: gauge([], 'Instruments with an isin whose prices this process requests.'),
  spconnect_prices_unreadable_instruments: gauge(
    [],
    'Instruments that are not priced, because their newest record cannot be read.',
  ),
  spconnect_prices_priced: gauge(
    ['price'],
    'Instruments whose last request got a price; only requests of this process count. All others are waiting, failing or repaid.',
  ),
  spconnect_prices_repaid: gauge(
    ['price'],
    'Repaid instruments that have no price, or are requested only once a day (prices.repaidAfter).',
  ),
  spconnect_prices_age_p50_seconds: gauge(['price'], 'Half of the newest prices are at most this many seconds old.'),
  spconnect_prices_age_p99_seconds: gauge(['price'], '99 % of the newest prices are at most this many seconds old.'),
  spconnect_prices_age_max_seconds: gauge(['price'], 'All of the newest prices are at most this many seconds old.'),
  spconnect_prices_overdue: gauge(
    ['price'],
    'Instruments (not failing, not repaid) that were not priced for one and a half refresh intervals.',
  ),
  spconnect_prices_pulled: gauge(['price'], 'Instruments whose newest snapshot says that quoting is inactive.'),
  spconnect_prices_failing: gauge(
    ['price', 'problem'],
    'Instruments (not repaid) whose last request got no price, by problem.',
  ),
  spconnect_prices_input_lag: gauge([], 'Instrument records that are not read yet.'),
};

const CONNECTION_METRICS = {
  spconnect_build_info: gauge(['version', 'node'], 'Always 1; the labels show which program runs.'),
  spconnect_kafka_silent_seconds: gauge(
    [],
    'Seconds since the last response of any broker, or since the start. At 10 s, the process stops being ready.',
  ),
  spconnect_log_lines_dropped_total: counter(
    [],
    'Lines of the log that were dropped, because its reader had stopped and 1 MiB was waiting.',
  ),
  spconnect_writer_lost_total: counter(
    ['partition', 'code'],
    'Number of times that a writer was lost and the offsets of its partition were read again, by the code of the error.',
  ),
  spconnect_registry_failures_total: counter(['code'], 'Failures of the schema registry, by the code of the error.', {
    code: [
      'REGISTRY_UNREACHABLE',
      'REGISTRY_REFUSED',
      'REGISTRY_MISMATCH',
      'SCHEMA_INCOMPATIBLE',
      'SCHEMA_NOT_REGISTERED',
    ],
  }),
  spconnect_http_requests_total: counter(['client', 'endpoint', 'code'], 'Requests to the provider, by their outcome.'),
  spconnect_http_request_duration_seconds: histogram(
    ['client', 'endpoint'],
    'Seconds from a request until its whole response was read and decoded.',
  ),
  spconnect_http_response_bytes_total: counter(['client', 'endpoint'], 'Bytes of the bodies of responses, decoded.'),
  spconnect_http_rate_limit_wait_seconds_total: counter(
    ['client'],
    'Seconds that requests were held back to stay within requestsPerSecond.',
  ),
  spconnect_rate_limit_processes: gauge(
    ['client'],
    'Processes that share requestsPerSecond: the group members with work, or all members during a rebalance.',
  ),
  spconnect_clock_ahead_seconds: gauge(
    ['clock'],
    'Seconds that the clock of the provider (Date header) or of Kafka (record times) is ahead of this machine.',
  ),
  spconnect_token_failing: gauge(['client'], '1 when the last request for a token failed, else 0.'),
};

/** Every metric of this program. The metrics of the process (`process_…`, `nodejs_…`) come from the library. */
export const METRICS = { ...SOURCE_METRICS, ...PRICE_METRICS, ...CONNECTION_METRICS };

export type MetricName = keyof typeof METRICS;
