import type { Freshness, KindFreshness } from '../observability/processor-events.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { PartitionTask } from './partition-task.ts';

/** In intervals: an instrument without a newer price is overdue. */
const OVERDUE_INTERVALS = 1.5;
const SECOND_MS = 1_000;
/** The longest refresh interval is a day. */
const AGE_BOUNDS_MS = [1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 300, 600, 1_800, 3_600, 7_200, 86_400, 129_600].map(
  (seconds) => seconds * SECOND_MS,
);

export interface AskedKind {
  readonly kind: PriceKind;
  readonly refreshIntervalMs: number;
}

/** How fresh the prices of each kind are, over all tasks. */
export function freshnessOf(
  tasks: readonly Pick<PartitionTask, 'core' | 'lag' | 'unreadable'>[],
  kinds: readonly [AskedKind, ...AskedKind[]],
  nowMs: number,
): Freshness {
  const cores = tasks.flatMap(({ core }) => core ?? []);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const [first, ...others] = kinds;
  const ofFirst = kindFreshness(cores, first, 0, nowMs);
  return {
    ...ofFirst,
    kinds: [ofFirst, ...others.map((kind, at) => kindFreshness(cores, kind, at + 1, nowMs))],
    instruments: sum(cores.map(({ instruments }) => instruments.size)),
    unreadable: sum(tasks.map(({ unreadable }) => unreadable)),
    unansweredInputs: sum(cores.map(({ unanswered }) => unanswered)),
    lag: sum(tasks.map(({ lag }) => lag)),
  };
}

/** @param at the place of the kind in the settings, and so of its plan in each instrument */
function kindFreshness(
  cores: readonly NonNullable<PartitionTask['core']>[],
  { kind, refreshIntervalMs }: AskedKind,
  at: number,
  nowMs: number,
): KindFreshness {
  const overdueMs = refreshIntervalMs * OVERDUE_INTERVALS;
  const ages = new Float64Array(cores.reduce((sum, core) => sum + core.instruments.size, 0));
  const failing: Record<string, number> = {};
  let priced = 0;
  let overdue = 0;
  let pulled = 0;
  for (const core of cores) {
    for (const { plans, sinceMs } of core.instruments.values()) {
      const plan = plans[at];
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
    kind,
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
