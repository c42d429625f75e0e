import type { Clock } from '../support/clock.ts';
import type { StreamPlace } from './connector-events.ts';
import type { Meters } from './meters.ts';
import { METRICS } from './metric-table/all.ts';

const STATUSES = METRICS.spconnect_source_status.values.status;

/** What is true of a source now, rather than what has happened. */
export interface SourceGauges {
  setStatus(source: string, status: (typeof STATUSES)[number]): void;
  setPlace(place: StreamPlace): void;
  /** Brings those up to date that change while nothing happens; called before each scrape. */
  refresh(): void;
}

export function createSourceGauges(options: {
  readonly meters: Meters;
  readonly sources: readonly string[];
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
}): SourceGauges {
  const { meters, sources, clock } = options;
  /** When the provider drops what we have not read, by the monotonic clock. */
  const cliffsMs = new Map<string, number>();

  function setStatus(source: string, now: (typeof STATUSES)[number]): void {
    for (const status of STATUSES) meters.set('spconnect_source_status', { source, status }, status === now ? 1 : 0);
  }

  const startedAtSeconds = clock.wallMs() / 1_000;
  for (const source of sources) {
    setStatus(source, 'unassigned');
    meters.set('spconnect_source_last_poll_timestamp_seconds', { source }, startedAtSeconds);
    meters.startAtZero({ source });
  }

  return {
    setStatus,
    setPlace({ source, secondsToRetentionCliff }) {
      if (secondsToRetentionCliff === null) cliffsMs.delete(source);
      else cliffsMs.set(source, clock.monotonicMs() + secondsToRetentionCliff * 1_000);
    },
    refresh() {
      for (const [source, cliffMs] of cliffsMs) {
        const seconds = (cliffMs - clock.monotonicMs()) / 1_000;
        meters.set('spconnect_seconds_to_retention_cliff', { source }, seconds);
      }
    },
  };
}
