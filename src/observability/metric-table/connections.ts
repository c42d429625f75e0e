import { type MetricDefinitions, SECONDS } from './definition.ts';

/** The program itself, and what it is connected to: provider, Kafka, registry. */
export const CONNECTION_METRICS = {
  spconnect_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels show which program runs.',
    labels: ['version', 'node'],
    meaning: 'Which version runs where, after an upgrade for example.',
  },
  spconnect_log_lines_dropped_total: {
    type: 'counter',
    help: 'Lines of the log that were dropped, as its reader had stopped and 1 MiB was waiting.',
    labels: [],
    meaning: 'The reader of standard output has stopped, or the disk is full; records go on.',
  },
  spconnect_writer_opened_total: {
    type: 'counter',
    help: 'Times that the writer of a partition of the offsets topic was opened.',
    labels: ['partition'],
    meaning: 'Once per start, and once more after each loss.',
  },
  spconnect_writer_open_duration_seconds: {
    type: 'histogram',
    help: 'Seconds to fence earlier writers and read the committed offsets.',
    labels: ['partition'],
    meaning: 'How long a start or a recovery takes.',
    buckets: SECONDS,
  },
  spconnect_writer_lost_total: {
    type: 'counter',
    help: 'Times that a writer was lost and every position read again, by the code of the error.',
    labels: ['partition', 'code'],
    meaning: 'WRITER_FENCED again and again: another process uses the same prefix.',
  },
  spconnect_topics_created_total: {
    type: 'counter',
    help: 'Topics that were created at the start.',
    labels: [],
    meaning: 'Only a first start creates some.',
  },
  spconnect_topic_differences_total: {
    type: 'counter',
    help: 'Settings of topics that differ harmlessly from the expected ones.',
    labels: [],
    meaning: 'The log names them.',
  },
  spconnect_states_unreadable_total: {
    type: 'counter',
    help: 'Values of the states topic that could not be read and were ignored.',
    labels: [],
    meaning: 'Another program, or a later version, writes that topic.',
  },
  spconnect_registry_failures_total: {
    type: 'counter',
    help: 'Failures of the schema registry, by the code of the error.',
    labels: ['code'],
    values: {
      code: [
        'REGISTRY_UNREACHABLE',
        'REGISTRY_REFUSED',
        'REGISTRY_MISMATCH',
        'SCHEMA_INCOMPATIBLE',
        'SCHEMA_NOT_REGISTERED',
      ],
    },
    meaning: 'Nothing is written without a verified schema.',
  },
  spconnect_http_requests_total: {
    type: 'counter',
    help: 'Requests to the provider, by their outcome.',
    labels: ['client', 'endpoint', 'code'],
    meaning: 'The rate of requests, and the share of each status.',
  },
  spconnect_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Seconds from a request until the last byte of its response was read and understood.',
    labels: ['client', 'endpoint'],
    meaning: 'How fast the provider answers.',
    buckets: SECONDS,
  },
  spconnect_http_response_bytes_total: {
    type: 'counter',
    help: 'Bytes of the bodies of responses, decoded.',
    labels: ['client', 'endpoint'],
    meaning: 'What the provider sends.',
  },
  spconnect_http_rate_limit_wait_seconds_total: {
    type: 'counter',
    help: 'Seconds that requests were held back to stay within requestsPerSecond.',
    labels: ['client'],
    meaning: 'Grows by a second per second: the limit is what slows us.',
  },
  spconnect_rate_limit_processes: {
    type: 'gauge',
    help: 'Processes among which requestsPerSecond is divided: members of the group that have work, or all while it rebalances.',
    labels: ['client'],
    meaning: 'More than there are replicas in Prometheus: a process that Prometheus does not scrape takes part.',
  },
  spconnect_rate_limit_requests_per_second: {
    type: 'gauge',
    help: 'Requests per second that this process may send: its share of requestsPerSecond.',
    labels: ['client'],
    meaning: 'Add up the replicas that have work: it is requestsPerSecond.',
  },
  spconnect_clock_ahead_seconds: {
    type: 'gauge',
    help: 'Seconds by which the clock of the provider (its Date, to a second) or of Kafka (when it appended our records) is ahead of that of this machine.',
    labels: ['clock'],
    meaning:
      'Beyond a minute, on either side: one of the clocks is wrong. Set that of the machine by NTP, or report it.',
  },
  spconnect_token_requests_total: {
    type: 'counter',
    help: 'Requests for a token, by their outcome.',
    labels: ['client', 'outcome'],
    values: { outcome: ['renewed', 'failed'] },
    meaning: 'Failures: the credentials or the token endpoint; polls fail once the last token has expired.',
  },
} as const satisfies MetricDefinitions;
