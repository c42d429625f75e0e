/**
 * The meaning of each label. Its values come from a short list in the settings or the code; never from data.
 * Exported for tests.
 */
export const METRIC_LABELS = {
  version: 'the version of this program',
  node: 'the version of Node.js',
  source: 'the name of a source in the settings; of failures also topics and replicas, which come before sources',
  status: 'unassigned, running, paused, stopped or failed',
  record: 'instrument, event, check or tombstone',
  result: 'the outcome, out of a short list',
  reason: 'the reason, out of a short list',
  kind: 'the kind of a notification',
  partition: 'a partition of the offsets topic',
  price: 'the kind of price: overview, daily or intraday; of several series also which one, such as daily/OHLC',
  problem: 'why an instrument has no price: status and number, refused and number, mismatch, unusable, none or other',
  at_most_seconds: 'an upper bound; instruments below it count in each higher one too',
  code: 'an error code, or the status of an HTTP response',
  client: 'referenceData or marketData; of tokens also schemaRegistry and kafka.sasl',
  clock: 'referenceData, marketData or kafka',
  endpoint: 'a path of the provider without ids and query; of polls: instruments, events or pretradechecks',
  outcome: 'renewed or failed',
} as const;

export type MetricLabel = keyof typeof METRIC_LABELS;

/** One metric. Its name begins with `spconnect_` and ends with its unit. */
export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** What is counted or measured, its unit included. */
  readonly help: string;
  readonly labels: readonly MetricLabel[];
  /** The values of labels that have only these: with them, a counter is 0 before its first increase. */
  readonly values?: Readonly<Partial<Record<MetricLabel, readonly string[]>>>;
  /** What it shows an operator, and when to look. */
  readonly meaning: string;
  /** The upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

export type MetricDefinitions = Readonly<Record<`spconnect_${string}`, MetricDefinition>>;

/** Buckets for durations of milliseconds when all is well, and a minute at most. */
export const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
