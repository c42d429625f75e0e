import type { HttpObserver } from '../support/http-observer.ts';
import { countEvents, toAll } from './event-table.ts';
import type { Events } from './events.ts';
import { createMeters, type Meters, type NamesOf } from './meters.ts';
import { PRICE_METRICS, SOURCE_METRICS } from './metric-table.ts';

/** The metrics of one running connector: the observers that change them, and the text that Prometheus reads. */
export interface Metrics {
  readonly events: Events;
  readonly httpObserver: HttpObserver;
  /** How far the provider's and Kafka's clocks were last ahead of our clock. Keys: `referenceData`, `marketData`, `kafka`. */
  readonly clocksAheadMs: ReadonlyMap<string, number>;
  /** From now on, each scrape calls `setGauges`, which sets the current values of the gauges of sources and prices. */
  follow(setGauges: (meters: Pick<Meters, 'set'>) => void): void;
  text(): Promise<string>;
  readonly contentType: string;
}

type SourceSeries = { readonly source: string } & ({ readonly record: string } | { readonly endpoint: string });

export function createMetrics(options: {
  readonly version: string;
  /** The names of all sources in the settings. Their series begin with zeros at the first scrape. */
  readonly sources: readonly string[];
  /** More series that begin with zeros; the values of their labels depend on the type of source. */
  readonly series?: readonly SourceSeries[];
  /** True if this process requests prices; otherwise the metrics of prices are absent. */
  readonly prices?: boolean;
  readonly droppedLogLines?: (() => number) | undefined;
}): Metrics {
  const { series = [], prices = true, droppedLogLines = () => 0 } = options;
  const meters = createMeters((name) => prices || !(name in PRICE_METRICS));
  meters.startAtZero({});
  for (const client of ['referenceData', 'marketData']) meters.startAtZero({ client });
  for (const source of options.sources) meters.startAtZero({ source });
  for (const labels of series) meters.startAtZero(labels);
  const clocksAheadMs = new Map<string, number>();
  let countedLines = 0;
  meters.set('spconnect_build_info', { version: options.version, node: process.versions.node }, 1);
  const statusGauges = Object.entries({ ...SOURCE_METRICS, ...PRICE_METRICS }).filter(
    ([, { type }]) => type === 'gauge',
  );
  const gauges = statusGauges.map(([name]) => name) as NamesOf<'gauge'>[];
  const followed = [...gauges, 'spconnect_kafka_silent_seconds'] as const;
  const startAtZero: Partial<Events> = {
    processorStarted({ kinds }) {
      for (const price of kinds) meters.startAtZero({ price });
    },
  };
  let setGauges: (meters: Pick<Meters, 'set'>) => void = () => {};
  return {
    events: toAll([startAtZero, countEvents(meters)]),
    httpObserver: createHttpMetrics(meters, clocksAheadMs),
    clocksAheadMs,
    follow(given) {
      setGauges = given;
    },
    text() {
      // A gauge without a current value must not keep its previous value.
      meters.clear(followed);
      setGauges(meters);
      const lines = droppedLogLines();
      meters.add('spconnect_log_lines_dropped_total', {}, lines - countedLines);
      countedLines = lines;
      return meters.text();
    },
    contentType: meters.contentType,
  };
}

function createHttpMetrics(meters: Meters, clocksAheadMs: Map<string, number>): HttpObserver {
  return {
    requested({ client, endpoint, code, durationMs, bytes }) {
      meters.add('spconnect_http_requests_total', { client, endpoint, code }, 1);
      meters.observe('spconnect_http_request_duration_seconds', { client, endpoint }, durationMs / 1_000);
      meters.add('spconnect_http_response_bytes_total', { client, endpoint }, bytes);
    },
    heldBack: ({ client, waitMs }) =>
      meters.add('spconnect_http_rate_limit_wait_seconds_total', { client }, waitMs / 1_000),
    limitShared: ({ client, processes }) => meters.set('spconnect_rate_limit_processes', { client }, processes),
    clockSeen({ clock, aheadMs }) {
      clocksAheadMs.set(clock, aheadMs);
      meters.set('spconnect_clock_ahead_seconds', { clock }, aheadMs / 1_000);
    },
    tokenAsked: ({ client, failed }) => meters.set('spconnect_token_failing', { client }, Number(failed)),
  };
}
