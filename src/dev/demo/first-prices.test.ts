import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skippingClock } from '../../../test/support/runner/manual-clock.ts';
import type { Freshness } from '../../observe/events.ts';
import { firstPrices } from './price-board.ts';

const AGES = { ageP50Ms: 0, ageP99Ms: 0, ageMaxMs: 0, ages: [] };
const NOTHING = { ...AGES, kind: 'overview', kinds: [], overdue: 0, pulled: 0, repaid: 0, unreadable: 0 } as const;

function freshness(counts: Partial<Freshness>): Freshness {
  return { ...NOTHING, instruments: 0, priced: 0, waiting: 0, failing: {}, unansweredInputs: 0, lag: 0, ...counts };
}

/** Returns the number of waits and the last line. Each call of `freshness` returns the next value of `reported`; later calls return the last value. */
async function waited(reported: readonly (Freshness | null)[], signal = new AbortController().signal) {
  const clock = skippingClock();
  let asked = 0;
  let shown = '';
  const board = { freshness: () => reported[Math.min(asked++, reported.length - 1)] ?? null };
  const line = {
    show: (text: string) => {
      shown = text;
    },
  };
  await firstPrices(5_000, board, line, clock, signal);
  return { checks: clock.sleepsMs.length, shown };
}

test('the demo waits for instruments that the processor has not read yet, although all others are priced', async () => {
  const { checks, shown } = await waited([
    null,
    freshness({ instruments: 4_000, priced: 4_000 }),
    freshness({ instruments: 5_000, priced: 4_000, waiting: 1_000, unansweredInputs: 1_000 }),
    freshness({ instruments: 5_000, priced: 4_000, waiting: 1_000 }),
    freshness({ instruments: 5_000, priced: 5_000, lag: 1 }),
    freshness({ instruments: 5_000, priced: 4_998, failing: { 'status 404': 2 } }),
  ]);
  assert.equal(checks, 5);
  assert.match(shown, /^Prices: 4,998 of 5,000 priced .* failing: 2 status 404$/);
});

test('the demo waits at most a minute for prices, and stops at once when its signal aborts', async () => {
  const never = [freshness({ instruments: 4_999, priced: 4_999 })];
  assert.equal((await waited(never)).checks, 240);
  assert.equal((await waited(never, AbortSignal.abort())).checks, 0);
});
