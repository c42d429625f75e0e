import { afterwards } from '../support/clock.ts';

const MINUTE_MS = 60_000;

/** Adds up what happens often, and reports it once a minute; nothing while nothing happens. */
export interface MinuteSummary {
  /** @param of whom the counts are: a source, a kind of prices */
  add(of: string, counts: Readonly<Record<string, number>>): void;
  /** Reports what was added since the last report: at the end of the process. */
  report(): void;
}

/** @param write receives, for each name, the sums since the report before. Exported for tests. */
export function createMinuteSummary(
  write: (of: string, sums: Readonly<Record<string, number>>) => void,
  later: (ms: number, action: () => void) => void = afterwards,
): MinuteSummary {
  const sums = new Map<string, Record<string, number>>();
  const report = () => {
    for (const [of, counts] of sums) write(of, counts);
    sums.clear();
  };
  return {
    add(of, counts) {
      if (sums.size === 0) later(MINUTE_MS, report);
      const sum = sums.get(of) ?? {};
      for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
      sums.set(of, sum);
    },
    report,
  };
}
