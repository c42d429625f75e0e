import { type MetricDefinitions, SECONDS } from './definition.ts';

const COUNTS = [1, 5, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000] as const;

/** The sources: what they poll and write, their walks, and where they stand. */
export const SOURCE_METRICS = {
  spconnect_source_status: {
    type: 'gauge',
    help: 'Status of the source: 1 for the one that it has, 0 for the others.',
    labels: ['source', 'status'],
    meaning: 'A failed source needs an operator; the others go on.',
  },
  spconnect_source_caught_up: {
    type: 'gauge',
    help: '1 when the stream had no more when it was last asked, else 0.',
    labels: ['source'],
    meaning: '0 for long: we lag behind, or our offset is in doubt.',
  },
  spconnect_source_last_poll_timestamp_seconds: {
    type: 'gauge',
    help: 'When a poll was last answered and committed, in seconds since 1970; the start until then.',
    labels: ['source'],
    meaning: 'Older than a few poll intervals: the source is stuck or what it needs is down.',
  },
  spconnect_seconds_to_retention_cliff: {
    type: 'gauge',
    help: 'Seconds until the provider drops events that were not read yet, were it never asked again; negative after.',
    labels: ['source'],
    meaning: 'Below a day: mend what keeps the source from polling, or events are lost.',
  },
  spconnect_polls_total: {
    type: 'counter',
    help: 'Polls that were answered and committed.',
    labels: ['source', 'endpoint'],
    meaning: 'How often the provider is asked.',
  },
  spconnect_poll_duration_seconds: {
    type: 'histogram',
    help: 'Seconds of an answered poll, from the request to the last row being decoded.',
    labels: ['source', 'endpoint'],
    meaning: 'How long an answer takes, waiting for the rate limit included.',
    buckets: SECONDS,
  },
  spconnect_rows_received_total: {
    type: 'counter',
    help: 'Rows of the answers: instruments of pages, events, checks.',
    labels: ['source', 'endpoint'],
    meaning: 'What the provider sends; each row is a record, unchanged, repeated or a dead letter.',
  },
  spconnect_records_written_total: {
    type: 'counter',
    help: 'Records that were committed, by what they are.',
    labels: ['source', 'record'],
    meaning: 'What reaches the topics.',
  },
  spconnect_rows_unchanged_total: {
    type: 'counter',
    help: 'Rows of a walk that the topic held already, or held newer.',
    labels: ['source'],
    meaning: 'All but a few in a walk after the first; else events were missed.',
  },
  spconnect_rows_repeated_total: {
    type: 'counter',
    help: 'Rows that came again further down the same page.',
    labels: ['source'],
    meaning: 'Harmless; the provider repeats itself.',
  },
  spconnect_dead_letters_total: {
    type: 'counter',
    help: 'Rows that could not become a record and went to the dead letters.',
    labels: ['source'],
    meaning: 'Each is an instrument, event or check that the topics lack.',
  },
  spconnect_drift_fields_total: {
    type: 'counter',
    help: 'Fields that the schema does not know, kept in extras.',
    labels: ['source'],
    meaning: 'The provider has new fields; a newer version may know them.',
  },
  spconnect_rounded_numbers_total: {
    type: 'counter',
    help: 'Decimals with more digits than the schema has, rounded in their field and kept verbatim in extras.',
    labels: ['source'],
    meaning: 'Consumers that need all digits read extras.',
  },
  spconnect_duplicate_keys_total: {
    type: 'counter',
    help: 'Keys that stood twice in one JSON object; the last one counted.',
    labels: ['source'],
    meaning: 'A fault of the provider; report it.',
  },
  spconnect_commit_duration_seconds: {
    type: 'histogram',
    help: 'Seconds that a transaction took.',
    labels: ['source'],
    meaning: 'Grows when Kafka is slow.',
    buckets: SECONDS,
  },
  spconnect_transaction_records: {
    type: 'histogram',
    help: 'Records of one transaction, the offset not counted.',
    labels: ['source'],
    meaning: 'How full the answers are.',
    buckets: COUNTS,
  },
  spconnect_poll_failures_total: {
    type: 'counter',
    help: 'Polls that failed and were tried again, by the code of the error.',
    labels: ['source', 'code'],
    meaning: 'Some are normal; look up a code that keeps coming in the table of error codes.',
  },
  spconnect_stream_answers_discarded_total: {
    type: 'counter',
    help: 'Answers of a stream that were not taken, as they would have repeated or lost something.',
    labels: ['source', 'reason'],
    meaning: 'When it goes on, our offset may be lost at the provider: a retention gap is being proven.',
  },
  spconnect_notifications_total: {
    type: 'counter',
    help: 'Records that went to the notifications topic.',
    labels: ['source', 'kind'],
    meaning: 'Each one is for people: read the record.',
  },
  spconnect_walk_running: {
    type: 'gauge',
    help: '1 while a walk is under way, else 0.',
    labels: ['source'],
    meaning: 'A complete reading of the list is going on.',
  },
  spconnect_walk_pages: {
    type: 'gauge',
    help: 'Pages of the walk that is under way, or of the last one.',
    labels: ['source'],
    meaning: "The walk's progress; compare with the last completed one.",
  },
  spconnect_walk_last_pages: {
    type: 'gauge',
    help: 'Pages of the last completed walk.',
    labels: ['source'],
    meaning: 'How many pages the walk under way will have, about.',
  },
  spconnect_walk_last_duration_seconds: {
    type: 'gauge',
    help: 'Seconds that the last completed walk took, pauses between two processes included.',
    labels: ['source'],
    meaning: 'Plan walkInterval well above it.',
  },
  spconnect_walk_last_completed_timestamp_seconds: {
    type: 'gauge',
    help: 'When the last walk was completed, in seconds since 1970.',
    labels: ['source'],
    meaning: 'Older than walkInterval: walks do not come to their end.',
  },
  spconnect_walks_completed_total: {
    type: 'counter',
    help: 'Walks that were completed.',
    labels: ['source'],
    meaning: 'One per walkInterval, and those that were asked for.',
  },
  spconnect_walk_rows_total: {
    type: 'counter',
    help: 'What completed walks found, row by row.',
    labels: ['source', 'result'],
    meaning: 'Corrected, added or gone rows after the first walk are changes that no event told.',
  },
} as const satisfies MetricDefinitions;
