import type { Meters } from './meters.ts';
import type { Freshness, KindFreshness } from './processor-events.ts';

/** The provider chooses the status of each item; only valid ones become a label. */
const KNOWN_PROBLEM = /^((status|refused) [1-5][0-9]{2}|mismatch|unusable|none)$/;

/** How fresh the prices are, computed at each scrape. */
export function createFreshnessGauges(meters: Meters): {
  follow(freshness: () => Freshness): void;
  refresh(): void;
} {
  let ask: (() => Freshness) | null = null;
  return {
    follow(freshness) {
      ask = freshness;
    },
    refresh() {
      if (ask === null) return;
      const fresh = ask();
      meters.set('spconnect_prices_instruments', {}, fresh.instruments);
      meters.set('spconnect_prices_unreadable_instruments', {}, fresh.unreadable);
      meters.set('spconnect_prices_unanswered_inputs', {}, fresh.unansweredInputs);
      meters.set('spconnect_prices_input_lag', {}, fresh.lag);
      meters.clear('spconnect_prices_failing');
      for (const kind of fresh.kinds) showKind(meters, kind);
    },
  };
}

function showKind(meters: Meters, { kind: price, ...fresh }: KindFreshness): void {
  meters.set('spconnect_prices_priced', { price }, fresh.priced);
  meters.set('spconnect_prices_waiting', { price }, fresh.waiting);
  meters.set('spconnect_prices_repaid', { price }, fresh.repaid);
  meters.set('spconnect_prices_age_p50_seconds', { price }, fresh.ageP50Ms / 1_000);
  meters.set('spconnect_prices_age_p99_seconds', { price }, fresh.ageP99Ms / 1_000);
  meters.set('spconnect_prices_age_max_seconds', { price }, fresh.ageMaxMs / 1_000);
  for (const { atMostMs, instruments } of fresh.ages) {
    const atMostSeconds = Number.isFinite(atMostMs) ? String(atMostMs / 1_000) : 'any';
    meters.set('spconnect_prices_by_age', { price, at_most_seconds: atMostSeconds }, instruments);
  }
  meters.set('spconnect_prices_overdue', { price }, fresh.overdue);
  meters.set('spconnect_prices_pulled', { price }, fresh.pulled);
  for (const [problem, instruments] of problemCounts(fresh.failing)) {
    meters.set('spconnect_prices_failing', { price, problem }, instruments);
  }
}

function problemCounts(failing: KindFreshness['failing']): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [name, instruments] of Object.entries(failing)) {
    const problem = KNOWN_PROBLEM.test(name) ? name : 'other';
    counts.set(problem, (counts.get(problem) ?? 0) + instruments);
  }
  return counts;
}
