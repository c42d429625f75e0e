import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type MetricDefinition, type MetricName } from './metric-table.ts';

/** Gauges whose names end with `_total`, as if they were counters. Other gauges of the library have the same numbers. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Each measurement of the event loop wakes the process. The default of 10 ms took half of an idle process's CPU. */
const LOOP_DELAY_EVERY_MS = 250;

/** Buckets for durations from milliseconds, which are normal, to a minute. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export type NamesOf<Type extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];

type GivenLabels = Readonly<Record<string, string>>;

export type LabelsOf<Name extends MetricName> = Readonly<Record<(typeof METRICS)[Name]['labels'][number], string>>;

/** The metrics of the table, by their names; the compiler knows which labels each metric has. */
export interface Meters {
  add<Name extends NamesOf<'counter'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Null means unknown and sets nothing: a cleared gauge then has no series until the next value. */
  set<Name extends NamesOf<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number | null): void;
  /** Forgets every series of these gauges, so that old values are not shown as current values. */
  clear(names: readonly NamesOf<'gauge'>[]): void;
  observe<Name extends NamesOf<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Starts the counters with these labels at 0, for all values of their other labels. Prometheus would miss a start above 0. */
  startAtZero(labels: GivenLabels): void;
  /** All metrics, including the metrics of the process, in the text format that Prometheus reads. */
  text(): Promise<string>;
  readonly contentType: string;
}

/**
 * Makes a separate registry with the metrics of the table, and the library's metrics of the process.
 *
 * @param isThere false for the metrics of a disabled part. These metrics must not exist, because they would show 0.
 */
export function createMeters(isThere: (name: string) => boolean = () => true): Meters {
  const registry = new Registry();
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();
  for (const [name, definition] of Object.entries(METRICS)) {
    if (!isThere(name)) continue;
    const { type, help, labels } = definition;
    const made = { name, help, labelNames: [...labels], registers: [registry] };
    if (type === 'counter') counters.set(name, new Counter(made));
    else if (type === 'gauge') gauges.set(name, new Gauge(made));
    else histograms.set(name, new Histogram({ ...made, buckets: SECONDS }));
  }
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_DELAY_EVERY_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return {
    add: (name, labels, value) => counters.get(name)?.inc(labels, value),
    set(name, labels, value) {
      if (value !== null) gauges.get(name)?.set(labels, value);
    },
    clear(names) {
      for (const name of names) {
        gauges.get(name)?.reset();
        // After a reset, the library shows a gauge without labels as 0.
        if (METRICS[name].labels.length === 0) gauges.get(name)?.remove({});
      }
    },
    observe: (name, labels, value) => histograms.get(name)?.observe(labels, value),
    startAtZero(labels) {
      for (const [name, counter] of counters) {
        for (const series of seriesWith(labels, METRICS[name as MetricName])) counter.inc(series, 0);
      }
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** The series of a metric with these labels; empty if the metric lacks one of them, or if values of its other labels are unknown. */
function seriesWith(labels: GivenLabels, { labels: names, values }: MetricDefinition): readonly GivenLabels[] {
  if (Object.keys(labels).some((name) => !names.includes(name))) return [];
  const others = names.filter((name) => !(name in labels));
  return others.reduce<readonly GivenLabels[]>(
    (series, name) => series.flatMap((given) => (values[name] ?? []).map((value) => ({ ...given, [name]: value }))),
    [labels],
  );
}
