// What the dashboard shows: one entry for each panel, one line for each query.

/** One line in a panel: what it shows, and what its series are called. */
type Query = readonly [expression: string, legend: string];

export interface Panel {
  readonly title: string;
  /** What a reader should know who sees the panel for the first time. */
  readonly description: string;
  /** Grafana's name of the unit. */
  readonly unit: 's' | 'short' | 'reqps' | 'cps' | 'Bps' | 'bytes' | 'percentunit';
  readonly queries: readonly Query[];
  /** One big number instead of lines: plain, or orange and red above these bounds (below them where red is the lower one). */
  readonly stat?: 'plain' | { readonly orange: number; readonly red: number };
  readonly stacked?: boolean;
}

const J = 'job=~"$job"';
const S = `${J},source=~"$source"`;
const rate = (metric: string, by: string, labels = S) =>
  `sum by (${by}) (rate(${metric}{${labels}}[$__rate_interval]))`;
const increase = (metric: string, by: string, labels = S) =>
  `sum by (${by}) (increase(${metric}{${labels}}[$__rate_interval]))`;
const quantile = (share: number, metric: string, by: string, labels = S) =>
  `histogram_quantile(${share}, sum by (${by === '' ? 'le' : `${by}, le`}) (rate(${metric}_bucket{${labels}}[$__rate_interval])))`;

const OVERVIEW: readonly Panel[] = [
  {
    title: 'Failed sources',
    description: 'Each waits for an operator.',
    unit: 'short',
    stat: { orange: 1, red: 1 },
    queries: [[`sum(max by (source) (spconnect_source_status{${S},status="failed"}))`, 'failed']],
  },
  {
    title: 'Running sources',
    description: 'Paused and stopped ones are not counted.',
    unit: 'short',
    stat: 'plain',
    queries: [[`sum(max by (source) (spconnect_source_status{${S},status="running"}))`, 'running']],
  },
  {
    title: 'To the retention cliff',
    description: 'After this, the provider drops events that were not read. Seven days when all is well.',
    unit: 's',
    stat: { orange: 3 * 86_400, red: 86_400 },
    queries: [[`min(max by (source) (spconnect_seconds_to_retention_cliff{${S}}))`, 'nearest']],
  },
  {
    title: 'Dead letters, 24 h',
    description: 'Instruments, events and checks that the topics lack.',
    unit: 'short',
    stat: { orange: 1, red: 100 },
    queries: [[`sum(increase(spconnect_dead_letters_total{${S}}[24h]))`, 'dead letters']],
  },
  {
    title: 'Age of prices, p99',
    description: 'About the refresh interval when all is well.',
    unit: 's',
    stat: { orange: 300, red: 3_600 },
    queries: [[`max by (price) (spconnect_prices_age_p99_seconds{${J}})`, '{{price}}']],
  },
  {
    title: 'Prices overdue',
    description: 'Instruments that were not priced for one and a half refresh intervals.',
    unit: 'short',
    stat: { orange: 1, red: 100 },
    queries: [[`sum by (price) (spconnect_prices_overdue{${J}})`, '{{price}}']],
  },
];

const SOURCES: readonly Panel[] = [
  {
    title: 'Status',
    description: 'How many processes have the source in this status.',
    unit: 'short',
    stacked: true,
    queries: [
      [`sum by (source, status) (spconnect_source_status{${S},status!="unassigned"}) > 0`, '{{source}} {{status}}'],
    ],
  },
  {
    title: 'Since the last successful poll',
    description: 'Saw teeth as high as the poll interval when all is well.',
    unit: 's',
    queries: [[`time() - max by (source) (spconnect_source_last_poll_timestamp_seconds{${S}})`, '{{source}}']],
  },
  {
    title: 'To the retention cliff',
    description: 'Falls by a second per second while the source gets no response.',
    unit: 's',
    queries: [[`max by (source) (spconnect_seconds_to_retention_cliff{${S}})`, '{{source}}']],
  },
  {
    title: 'Rows received',
    description: 'Instruments of pages, events and checks, as the provider sends them.',
    unit: 'cps',
    queries: [[rate('spconnect_rows_received_total', 'source, endpoint'), '{{source}} {{endpoint}}']],
  },
  {
    title: 'Records written',
    description: 'What is committed to the topics.',
    unit: 'cps',
    queries: [[rate('spconnect_records_written_total', 'source, record'), '{{source}} {{record}}']],
  },
  {
    title: 'Commit duration, p95',
    description: 'One transaction: records, dead letters, notifications and offset.',
    unit: 's',
    queries: [[quantile(0.95, 'spconnect_commit_duration_seconds', 'source'), '{{source}}']],
  },
  {
    title: 'Failed polls',
    description: 'By the code of the error; each is tried again.',
    unit: 'short',
    queries: [[increase('spconnect_poll_failures_total', 'source, code'), '{{source}} {{code}}']],
  },
  {
    title: 'Dead letters and discarded responses',
    description: 'By why.',
    unit: 'short',
    queries: [
      [increase('spconnect_dead_letters_total', 'source, reason'), '{{source}} {{reason}}'],
      [increase('spconnect_stream_responses_discarded_total', 'source, reason'), '{{source}} discarded: {{reason}}'],
    ],
  },
  {
    title: 'What the schema does not know',
    description: 'Nothing is lost: it is kept in extras.',
    unit: 'short',
    queries: [
      [increase('spconnect_drift_fields_total', 'source'), '{{source}} unknown fields'],
      [increase('spconnect_rounded_numbers_total', 'source'), '{{source}} rounded numbers'],
      [increase('spconnect_duplicate_keys_total', 'source'), '{{source}} duplicate keys'],
    ],
  },
  {
    title: 'Caught up',
    description: '1 when the stream was recently read to its end; 0 for long means that the source lags.',
    unit: 'short',
    queries: [[`max by (source) (spconnect_source_caught_up{${S}})`, '{{source}}']],
  },
  {
    title: 'Notifications',
    description: 'Records for people on the notifications topic.',
    unit: 'short',
    queries: [[increase('spconnect_notifications_total', 'source, kind'), '{{source}} {{kind}}']],
  },
  {
    title: 'Writers and registry',
    description: 'Lost writers are opened again and go on from what is committed.',
    unit: 'short',
    queries: [
      [increase('spconnect_writer_lost_total', 'code', J), 'writer lost: {{code}}'],
      [increase('spconnect_registry_failures_total', 'code', J), 'registry: {{code}}'],
    ],
  },
];

const WALKS: readonly Panel[] = [
  {
    title: 'Progress',
    description: 'Pages of the walk under way, or of the last one.',
    unit: 'short',
    queries: [[`max by (source) (spconnect_walk_pages{${S}})`, '{{source}}']],
  },
  {
    title: 'Under way',
    description: '1 while a walk is under way.',
    unit: 'short',
    queries: [[`max by (source) (spconnect_walk_running{${S}})`, '{{source}}']],
  },
  {
    title: 'What walks found',
    description: 'After the first walk, anything but unchanged is a change without an event.',
    unit: 'short',
    queries: [[increase('spconnect_walk_rows_total', 'source, result'), '{{source}} {{result}}']],
  },
  {
    title: 'Deleted instruments',
    description: 'Tombstones: no longer in the list, or named by an event that deletes.',
    unit: 'short',
    queries: [[increase('spconnect_tombstones_total', 'source, reason'), '{{source}} {{reason}}']],
  },
  {
    title: 'To the next walk',
    description: 'Falls to 0; below while it waits for the provider; empty while a walk is under way.',
    unit: 's',
    queries: [[`min by (source) (spconnect_seconds_to_next_walk{${S}})`, '{{source}}']],
  },
  {
    title: 'Walks without deletion',
    description: 'Walks in a row that could not determine what is gone; 0 when all is well.',
    unit: 'short',
    queries: [[`max by (source) (spconnect_walks_without_deletion{${S}})`, '{{source}}']],
  },
];

const PROVIDER: readonly Panel[] = [
  {
    title: 'Requests',
    description: 'By status, or by the code of the error.',
    unit: 'reqps',
    stacked: true,
    queries: [[rate('spconnect_http_requests_total', 'endpoint, code', J), '{{endpoint}} {{code}}']],
  },
  {
    title: 'Request duration, p50 and p99',
    description: 'To the last byte being read and understood.',
    unit: 's',
    queries: [
      [quantile(0.5, 'spconnect_http_request_duration_seconds', 'endpoint', J), '{{endpoint}} p50'],
      [quantile(0.99, 'spconnect_http_request_duration_seconds', 'endpoint', J), '{{endpoint}} p99'],
    ],
  },
  {
    title: 'Bytes received',
    description: 'Bodies, decoded.',
    unit: 'Bps',
    queries: [[rate('spconnect_http_response_bytes_total', 'endpoint', J), '{{endpoint}}']],
  },
  {
    title: 'Held back by the rate limit',
    description: 'Requests that wait, on average: 0 when the limit is not felt.',
    unit: 'short',
    queries: [[rate('spconnect_http_rate_limit_wait_seconds_total', 'client', J), '{{client}}']],
  },
  {
    title: 'Tokens',
    description: '1 when the last request for a token failed.',
    unit: 'short',
    queries: [[`max by (client) (spconnect_token_failing{${J}})`, '{{client}}']],
  },
];

const PRICES: readonly Panel[] = [
  {
    title: 'Age of the newest prices',
    description: 'Over all instruments that are priced.',
    unit: 's',
    queries: [
      [`max by (price) (spconnect_prices_age_p50_seconds{${J}})`, '{{price}} p50'],
      [`max by (price) (spconnect_prices_age_p99_seconds{${J}})`, '{{price}} p99'],
      [`max by (price) (spconnect_prices_age_max_seconds{${J}})`, '{{price}} oldest'],
    ],
  },
  {
    title: 'Without a fresh price',
    description:
      'Overdue is ours or the provider’s slowness; failing is what the provider refuses; pulled is the market.',
    unit: 'short',
    queries: [
      [`sum by (price) (spconnect_prices_overdue{${J}})`, '{{price}} overdue'],
      [`sum by (price, problem) (spconnect_prices_failing{${J}})`, '{{price}} failing: {{problem}}'],
      [`sum(spconnect_prices_pulled{${J}})`, 'quoting inactive'],
    ],
  },
  {
    title: 'Answers',
    description: 'Instruments asked for, by what came of it.',
    unit: 'cps',
    stacked: true,
    queries: [[rate('spconnect_prices_items_total', 'price, result', J), '{{price}} {{result}}']],
  },
  {
    title: 'Bulk calls',
    description: 'Many more calls than batches: something is refused again and again.',
    unit: 'reqps',
    queries: [
      [rate('spconnect_prices_bulk_calls_total', 'price', J), '{{price}} calls'],
      [rate('spconnect_prices_batches_total', 'price', J), '{{price}} batches'],
      [rate('spconnect_prices_bulk_failures_total', 'price, code', J), '{{price}} failed: {{code}}'],
    ],
  },
  {
    title: 'Ask and commit, p95',
    description: 'The time of an answered bulk call, and of the transaction of a batch.',
    unit: 's',
    queries: [
      [quantile(0.95, 'spconnect_prices_ask_duration_seconds', 'price', J), '{{price}} ask'],
      [quantile(0.95, 'spconnect_prices_commit_duration_seconds', 'price', J), '{{price}} commit'],
    ],
  },
  {
    title: 'Status',
    description: 'How many price processors have this status.',
    unit: 'short',
    stacked: true,
    queries: [[`sum by (status) (spconnect_prices_status{${J},status!="unassigned"}) > 0`, '{{status}}']],
  },
  {
    title: 'Instruments',
    description: 'Those with an isin: each is priced, waiting for its first request, failing or repaid.',
    unit: 'short',
    queries: [
      [`sum(spconnect_prices_instruments{${J}})`, 'to be priced'],
      [`sum by (price) (spconnect_prices_priced{${J}})`, '{{price}} priced'],
      [`sum by (price) (spconnect_prices_repaid{${J}})`, '{{price}} repaid'],
      [`sum(spconnect_prices_unreadable_instruments{${J}})`, 'cannot be read'],
    ],
  },
  {
    title: 'Partitions',
    description: 'Whose instruments each process prices; all of them together have all.',
    unit: 'short',
    stacked: true,
    queries: [[`sum by (instance) (spconnect_prices_partitions{${J}})`, '{{instance}}']],
  },
  {
    title: 'Lost writers and failed starts',
    description: 'WRITER_FENCED at a rebalance is normal; each is opened again and goes on from what is committed.',
    unit: 'short',
    queries: [
      [increase('spconnect_prices_writer_lost_total', 'code', J), 'writer lost: {{code}}'],
      [increase('spconnect_prices_attempts_failed_total', 'code', J), 'not joined: {{code}}'],
    ],
  },
  {
    title: 'Tombstones and unreadable records',
    description: 'Prices that were taken away, by why; and records on our topics that were passed over.',
    unit: 'short',
    queries: [
      [increase('spconnect_prices_tombstones_total', 'reason', J), 'taken away: {{reason}}'],
      [increase('spconnect_prices_unreadable_records_total', 'reason', J), 'unreadable: {{reason}}'],
    ],
  },
  {
    title: 'Instruments waiting',
    description: 'Records of the instruments topics that are not read yet.',
    unit: 'short',
    queries: [[`sum(spconnect_prices_input_lag{${J}})`, 'not read']],
  },
];

const PROCESS: readonly Panel[] = [
  {
    title: 'Kafka silent',
    description: 'Since a broker has answered anything; below ten seconds when all is well.',
    unit: 's',
    queries: [[`spconnect_kafka_silent_seconds{${J}}`, '{{instance}}']],
  },
  {
    title: 'CPU',
    description: 'Of all cores; JavaScript itself has one.',
    unit: 'percentunit',
    queries: [[rate('process_cpu_seconds_total', 'instance', J), '{{instance}}']],
  },
  {
    title: 'Memory',
    description: 'What the system counts, and the part that JavaScript objects use.',
    unit: 'bytes',
    queries: [
      [`process_resident_memory_bytes{${J}}`, '{{instance}} resident'],
      [`nodejs_heap_size_used_bytes{${J}}`, '{{instance}} heap'],
    ],
  },
  {
    title: 'Clocks ahead of this machine',
    description: 'Within a few seconds when all is well; negative: behind.',
    unit: 's',
    queries: [[`spconnect_clock_ahead_seconds{${J}}`, '{{clock}} seen by {{instance}}']],
  },
  {
    title: 'Replicas',
    description: 'Among how many the rate limit is divided: those that have work.',
    unit: 'short',
    queries: [[`max by (client) (spconnect_rate_limit_processes{${J}})`, '{{client}}']],
  },
  {
    title: 'Event loop delay',
    description: 'Since the scrape before; about 250 ms is none, as that is how often it is measured.',
    unit: 's',
    queries: [
      [`nodejs_eventloop_lag_p99_seconds{${J}}`, '{{instance}} p99'],
      [`nodejs_eventloop_lag_max_seconds{${J}}`, '{{instance}} max'],
    ],
  },
  {
    title: 'Garbage collection',
    description: 'The share of time that it takes.',
    unit: 'percentunit',
    queries: [[rate('nodejs_gc_duration_seconds_sum', 'instance, kind', J), '{{instance}} {{kind}}']],
  },
  {
    title: 'Log lines dropped',
    description: 'Lines per second that found no room, as the reader of the log had stopped.',
    unit: 'short',
    queries: [[rate('spconnect_log_lines_dropped_total', 'instance', J), '{{instance}}']],
  },
  {
    title: 'Versions',
    description: 'Processes by version.',
    unit: 'short',
    queries: [[`sum by (version, node) (spconnect_build_info{${J}})`, '{{version}} on Node.js {{node}}']],
  },
];

/** Rows of panels: their title, how wide and high each panel is (of 24 columns), and the panels. */
export const ROWS = [
  { title: 'Overview', width: 4, height: 4, panels: OVERVIEW },
  { title: 'Sources', width: 8, height: 7, panels: SOURCES },
  { title: 'Walks', width: 8, height: 7, panels: WALKS },
  { title: 'Provider', width: 8, height: 7, panels: PROVIDER },
  { title: 'Prices', width: 8, height: 7, panels: PRICES },
  { title: 'Process', width: 8, height: 7, panels: PROCESS },
] as const;
