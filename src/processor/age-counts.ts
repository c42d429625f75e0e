import type { KindFreshness } from '../observability/processor-events.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** The longest refresh interval is a day. */
const AGE_BOUNDS_MS = [1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 300, 600, 1_800, 3_600, 7_200, 86_400, 129_600].map(
  (seconds) => seconds * SECOND_MS,
);

/**
 * How many have which age, rounded up: to a tenth of a second in the first minute, to seconds in the first hour, then to
 * minutes. So there are a few thousand ages at most, and no long sorting at the end.
 */
export class AgeCounts {
  readonly #counts = new Map<number, number>();
  #count = 0;

  add(ageMs: number): void {
    const unitMs = ageMs <= MINUTE_MS ? 100 : ageMs <= HOUR_MS ? SECOND_MS : MINUTE_MS;
    const roundedMs = Math.ceil(ageMs / unitMs) * unitMs;
    this.#counts.set(roundedMs, (this.#counts.get(roundedMs) ?? 0) + 1);
    this.#count += 1;
  }

  summary(): Pick<KindFreshness, 'priced' | 'ageP50Ms' | 'ageP99Ms' | 'ageMaxMs' | 'ages'> {
    const ascending: { readonly ageMs: number; readonly upToHere: number }[] = [];
    let upToHere = 0;
    for (const [ageMs, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      upToHere += count;
      ascending.push({ ageMs, upToHere });
    }
    const countUpTo = (atMostMs: number) => ascending.findLast(({ ageMs }) => ageMs <= atMostMs)?.upToHere ?? 0;
    const quantile = (share: number) => ascending.find((one) => one.upToHere >= this.#count * share)?.ageMs ?? 0;
    return {
      priced: this.#count,
      ageP50Ms: quantile(0.5),
      ageP99Ms: quantile(0.99),
      ageMaxMs: quantile(1),
      ages: [...AGE_BOUNDS_MS, Number.POSITIVE_INFINITY].map((atMostMs) => ({
        atMostMs,
        instruments: countUpTo(atMostMs),
      })),
    };
  }
}
