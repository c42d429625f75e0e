import type { Meters } from './meters.ts';
import type { Freshness } from './processor-events.ts';

/** The provider names the status of each item itself; only real ones become a label. */
const KNOWN_PROBLEM = /^((status|refused) [1-5][0-9]{2}|mismatch|unusable|none)$/;

/** How fresh the prices are, asked for at each scrape. */
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
      meters.set('spconnect_prices_priced', {}, fresh.priced);
      meters.set('spconnect_prices_age_p50_seconds', {}, fresh.ageP50Ms / 1_000);
      meters.set('spconnect_prices_age_p99_seconds', {}, fresh.ageP99Ms / 1_000);
      meters.set('spconnect_prices_age_max_seconds', {}, fresh.ageMaxMs / 1_000);
      for (const { atMostMs, instruments } of fresh.ages) {
        const atMostSeconds = Number.isFinite(atMostMs) ? String(atMostMs / 1_000) : 'any';
        meters.set('spconnect_prices_by_age', { at_most_seconds: atMostSeconds }, instruments);
      }
      meters.set('spconnect_prices_overdue', {}, fresh.overdue);
      meters.set('spconnect_prices_pulled', {}, fresh.pulled);
      meters.set('spconnect_prices_unanswered_inputs', {}, fresh.unansweredInputs);
      meters.set('spconnect_prices_input_lag', {}, fresh.lag);
      meters.clear('spconnect_prices_failing');
      for (const [problem, instruments] of problemCounts(fresh.failing)) {
        meters.set('spconnect_prices_failing', { problem }, instruments);
      }
    },
  };
}

function problemCounts(failing: Freshness['failing']): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [name, instruments] of Object.entries(failing)) {
    const problem = KNOWN_PROBLEM.test(name) ? name : 'other';
    counts.set(problem, (counts.get(problem) ?? 0) + instruments);
  }
  return counts;
}
