import type { Freshness } from '../observability/processor-events.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { PartitionTask } from './partition-task.ts';

/** In intervals: an instrument without a newer snapshot is overdue. */
const OVERDUE_INTERVALS = 1.5;
const SECOND_MS = 1_000;
const AGE_BOUNDS_MS = [1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 300, 600, 1_800, 3_600].map((s) => s * SECOND_MS);

/** How fresh the prices of the first kind are, over all tasks. */
export function freshnessOf(
  tasks: readonly Pick<PartitionTask, 'core' | 'lag'>[],
  kinds: readonly { readonly kind: PriceKind; readonly refreshIntervalMs: number }[],
  nowMs: number,
): Freshness {
  const overdueMs = (kinds[0]?.refreshIntervalMs ?? 0) * OVERDUE_INTERVALS;
  const cores = tasks.flatMap(({ core }) => core ?? []);
  const instruments = cores.reduce((sum, core) => sum + core.instruments.size, 0);
  const ages = new Float64Array(instruments);
  const failing: Record<string, number> = {};
  let priced = 0;
  let overdue = 0;
  let pulled = 0;
  for (const core of cores) {
    for (const { plans, sinceMs } of core.instruments.values()) {
      const [plan] = plans;
      if (plan === undefined) continue;
      if (plan.pricedAtMs !== null) ages[priced++] = nowMs - plan.pricedAtMs;
      if (plan.pulled) pulled += 1;
      if (plan.problem !== null) failing[plan.problem] = (failing[plan.problem] ?? 0) + 1;
      else if (nowMs - (plan.pricedAtMs ?? sinceMs) > overdueMs) overdue += 1;
    }
  }
  const sorted = ages.subarray(0, priced).sort();
  const quantile = (share: number) => sorted[Math.max(0, Math.ceil(priced * share) - 1)] ?? 0;
  return {
    instruments,
    priced,
    ageP50Ms: quantile(0.5),
    ageP99Ms: quantile(0.99),
    ageMaxMs: quantile(1),
    ages: [...AGE_BOUNDS_MS, Number.POSITIVE_INFINITY].map((atMostMs) => ({
      atMostMs,
      instruments: countUpTo(sorted, atMostMs),
    })),
    overdue,
    pulled,
    failing,
    unansweredInputs: cores.reduce((sum, core) => sum + core.unanswered, 0),
    lag: tasks.reduce((sum, { lag }) => sum + lag, 0),
  };
}

/** How many of the ascending values are at most this. */
function countUpTo(sorted: Float64Array, bound: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Number.POSITIVE_INFINITY) <= bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
