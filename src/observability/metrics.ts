import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { ConnectorEvents } from './connector-events.ts';
import { createHttpMetrics } from './http-metrics.ts';
import { createMeters } from './meters.ts';
import { PRICE_METRICS } from './metric-table/prices.ts';
import { createMetricsEvents } from './metrics-events.ts';
import type { ProcessorEvents } from './processor-events.ts';
import { createProcessorMetrics } from './processor-metrics.ts';
import { createSourceGauges } from './source-gauges.ts';

/** The metrics of one running connector: their sinks, and the text that Prometheus reads. */
export interface Metrics {
  readonly events: ConnectorEvents;
  readonly processorEvents: ProcessorEvents;
  readonly httpObserver: HttpObserver;
  /** The response to a scrape. */
  text(): Promise<string>;
  readonly contentType: string;
}

const CLIENTS = ['referenceData', 'marketData'];

export function createMetrics(options: {
  readonly version: string;
  /** The names of all sources of the settings: each exists from the first scrape on, with zeros. */
  readonly sources: readonly string[];
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  /** Whether this process prices; the metrics of prices are there only if it does. */
  readonly prices?: boolean;
  /** How many lines of the log were dropped since the start. */
  readonly droppedLogLines?: (() => number) | undefined;
}): Metrics {
  const { clock, prices = true, droppedLogLines = () => 0 } = options;
  const meters = createMeters((name) => prices || !(name in PRICE_METRICS));
  const sources = createSourceGauges({ meters, sources: options.sources, clock });
  meters.startAtZero({});
  for (const client of CLIENTS) meters.startAtZero({ client });
  const processor = createProcessorMetrics(meters);
  let countedLines = 0;
  const countDroppedLines = () => {
    const lines = droppedLogLines();
    meters.add('spconnect_log_lines_dropped_total', {}, lines - countedLines);
    countedLines = lines;
  };
  meters.set('spconnect_build_info', { version: options.version, node: process.versions.node }, 1);
  return {
    events: createMetricsEvents({ meters, sources, clock }),
    processorEvents: processor.events,
    httpObserver: createHttpMetrics(meters),
    text() {
      sources.refresh();
      processor.refresh();
      countDroppedLines();
      return meters.text();
    },
    contentType: meters.contentType,
  };
}
