import type { Subject } from './subject.ts';
import { type Sample, type Trend, trendsOf } from './trends.ts';

/** At most so many samples of a process are kept; the interval follows from the length of the run. */
const SAMPLES = 400;
const SHORTEST_INTERVAL_MS = 1_000;

/** What the replicas that live through a whole soak hold, from time to time. */
export interface Sampling {
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
