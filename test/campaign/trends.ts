import type { Usage } from './messages.ts';
import type { Subject } from './subject.ts';

interface Sample {
  readonly atMs: number;
  readonly usage: Usage;
}

/** How one measure of a process grew over its life. */
export interface Trend {
  readonly process: string;
  readonly measure: keyof Usage;
  readonly first: number;
  readonly last: number;
  readonly perMinute: number;
  /** The growth a minute above which it counts as a leak. */
  readonly bound: number;
  readonly isLeak: boolean;
}

/**
 * What a process may gain: so much a minute, or so much in all, whichever lets more pass. The first is for long runs, the
 * second for what comes and goes.
 */
const BOUNDS: Readonly<Record<keyof Usage, { readonly perMinute: number; readonly inAll: number }>> = {
  rssMiB: { perMinute: 0.5, inAll: 32 },
  heapMiB: { perMinute: 0.25, inAll: 16 },
  sockets: { perMinute: 0.1, inAll: 12 },
  timers: { perMinute: 0.1, inAll: 24 },
  handles: { perMinute: 0.2, inAll: 36 },
};
const MEASURES = Object.keys(BOUNDS) as (keyof Usage)[];
/** The share of the samples that a process needs to warm up. */
const WARM_UP = 0.2;
/** In a shorter life, what a start takes is all that shows. */
const SHORTEST_MINUTES = 5;

function trendsOf(process: string, samples: readonly Sample[]): Trend[] {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const [first, last] = [warm[0], warm.at(-1)];
  if (first === undefined || last === undefined) return [];
  const minutes = (last.atMs - first.atMs) / 60_000;
  return MEASURES.map((measure) => {
    const perMinute = slope(warm.map(({ atMs, usage }) => [atMs / 60_000, usage[measure]]));
    const bound = Math.max(BOUNDS[measure].perMinute, BOUNDS[measure].inAll / minutes);
    const isLeak = minutes >= SHORTEST_MINUTES && perMinute > bound;
    return { process, measure, first: first.usage[measure], last: last.usage[measure], perMinute, bound, isLeak };
  });
}

/** The median of the slopes between all pairs of points (Theil and Sen): single peaks do not move it. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const slopes = points.flatMap(([x, y], index) =>
    points.slice(index + 1).flatMap(([laterX, laterY]) => (laterX > x ? [(laterY - y) / (laterX - x)] : [])),
  );
  return slopes.toSorted((a, b) => a - b)[Math.floor(slopes.length / 2)] ?? 0;
}

export function trendTable(trends: readonly Trend[]): string {
  const lines = trends.map(({ process, measure, first, last, perMinute, bound, isLeak }) => {
    const numbers = [first.toFixed(1), last.toFixed(1), perMinute.toFixed(3), bound.toFixed(3)].join(' | ');
    return `| ${process} | ${measure} | ${numbers} | ${isLeak ? 'LEAK' : 'no'} |`;
  });
  return ['| process | of | first | last | a minute | bound | leak |', '|---|---|---|---|---|---|---|', ...lines].join(
    '\n',
  );
}

/** At most so many samples of a process are kept; the interval follows from the length of the run. */
const SAMPLES = 400;
const SHORTEST_INTERVAL_MS = 1_000;

/** What the replicas that live through a whole soak hold, from time to time. */
interface Sampling {
  observe(subjects: readonly Subject[]): { readonly end: () => void };
  trends(): Trend[];
}

export function createSampling(minutes: number): Sampling {
  const samples = new Map<string, Sample[]>();
  const intervalMs = Math.max(SHORTEST_INTERVAL_MS, (minutes * 60_000) / SAMPLES);
  return {
    observe(subjects) {
      const replicas = subjects.flatMap((subject) => subject.replicas());
      const timer = setInterval(() => {
        for (const replica of replicas) {
          const atMs = Date.now();
          const keep = (usage: Sample['usage']) => {
            samples.set(replica.name, [...(samples.get(replica.name) ?? []), { atMs, usage }]);
          };
          // One that stands still does not answer; one that has ended is found elsewhere.
          replica.usage().then(keep, () => undefined);
        }
      }, intervalMs);
      return { end: () => clearInterval(timer) };
    },
    trends: () => [...samples].flatMap(([process, own]) => trendsOf(process, own)),
  };
}
