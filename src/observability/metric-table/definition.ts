/** What a label tells apart. Its values come from a short list that the settings or the code give; never from data. */
export const METRIC_LABELS = {
  version: 'the version of this program',
  node: 'the version of Node.js',
  source: 'the name of a source in the settings; of failures also topics and replicas, for what comes before sources',
  status: 'unassigned, running, paused, stopped or failed',
  record: 'instrument, event, check or tombstone',
  result: 'what became of it, out of a short list',
  reason: 'why, out of a short list',
  kind: 'the kind of a notification',
  partition: 'a partition of the offsets topic',
  price: 'the kind of price: overview, daily or intraday',
  problem: 'why an instrument has no price: status and number, refused and number, mismatch, unusable, none or other',
  at_most_seconds: 'an upper bound; instruments below it stand in each higher one too',
  code: 'an error code, or the status of an HTTP answer',
  client: 'referenceData or marketData',
  endpoint: 'a path of the provider without ids and query; of polls: instruments, events or pretradechecks',
  outcome: 'renewed or failed',
} as const;

export type MetricLabel = keyof typeof METRIC_LABELS;

/** One metric: everything that there is to say about it. Its name begins with `spconnect_` and ends in its unit. */
export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** What is counted or measured, its unit included. */
  readonly help: string;
  readonly labels: readonly MetricLabel[];
  /** The values of those labels that have only these: with them, a counter stands at 0 before its first increase. */
  readonly values?: Readonly<Partial<Record<MetricLabel, readonly string[]>>>;
  /** What it tells an operator, and when to look. */
  readonly meaning: string;
  /** The upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

export type MetricDefinitions = Readonly<Record<`spconnect_${string}`, MetricDefinition>>;

/** Buckets for what takes milliseconds when all is well, and a minute at most. */
export const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
