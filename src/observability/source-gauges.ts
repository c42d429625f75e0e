import type { Clock } from '../support/clock.ts';
import type { StreamPlace } from './connector-events.ts';
import type { Meters } from './meters.ts';
import { METRICS } from './metric-table/all.ts';

const STATUSES = METRICS.spconnect_source_status.values.status;

/** The current state of a source, rather than its events. */
export interface SourceGauges {
  setStatus(source: string, status: (typeof STATUSES)[number]): void;
  setPlace(place: StreamPlace): void;
  /** Its task has ended, for any reason: no walk is under way here. */
  taskEnded(source: string): void;
  /** This replica runs these sources; the state of all others is known to other replicas. */
  setOwned(sources: readonly string[]): void;
  /** Updates the gauges that change without events; called before each scrape. */
  refresh(): void;
}

export function createSourceGauges(options: {
  readonly meters: Meters;
  readonly sources: readonly string[];
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
}): SourceGauges {
  const { meters, sources, clock } = options;
  /** When the provider drops events that we have not read, by the monotonic clock. */
  const cliffsMs = new Map<string, number>();
  /** When the next walk begins by itself, by the monotonic clock. */
  const walksMs = new Map<string, number>();

  function setStatus(source: string, now: (typeof STATUSES)[number]): void {
    for (const status of STATUSES) meters.set('spconnect_source_status', { source, status }, status === now ? 1 : 0);
  }

  const startedAtSeconds = clock.wallMs() / 1_000;
  for (const source of sources) {
    setStatus(source, 'unassigned');
    meters.set('spconnect_source_last_poll_timestamp_seconds', { source }, startedAtSeconds);
    meters.startAtZero({ source });
  }

  const taskEnded = (source: string) => {
    meters.forget('spconnect_walk_running', { source });
    meters.forget('spconnect_walks_without_deletion', { source });
    walksMs.delete(source);
  };
  const setMoment = (moments: Map<string, number>, source: string, seconds: number | null) => {
    if (seconds === null) moments.delete(source);
    else moments.set(source, clock.monotonicMs() + seconds * 1_000);
  };

  return {
    setStatus,
    taskEnded,
    setOwned(owned) {
      for (const source of sources.filter((name) => !owned.includes(name))) {
        setStatus(source, 'unassigned');
        taskEnded(source);
        cliffsMs.delete(source);
        meters.forget('spconnect_source_caught_up', { source });
        meters.forget('spconnect_walk_pages', { source });
        meters.forget('spconnect_walk_next_timestamp_seconds', { source });
      }
    },
    setPlace({ source, secondsToRetentionCliff, secondsToNextWalk = null, walksWithoutDeletion }) {
      if (walksWithoutDeletion !== undefined) {
        meters.set('spconnect_walks_without_deletion', { source }, walksWithoutDeletion);
      }
      setMoment(cliffsMs, source, secondsToRetentionCliff);
      setMoment(walksMs, source, secondsToNextWalk);
    },
    refresh() {
      for (const [name, moments] of [
        ['spconnect_seconds_to_retention_cliff', cliffsMs],
        ['spconnect_seconds_to_next_walk', walksMs],
      ] as const) {
        meters.clear(name);
        for (const [source, ms] of moments) meters.set(name, { source }, (ms - clock.monotonicMs()) / 1_000);
      }
    },
  };
}
