import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkedRate, checkRange, opensWithin, pagePlan } from '../../../src/commands/backfill/backfill-plan.ts';
import { DAILY, INTRADAY } from '../../../src/config/price-kinds/all.ts';
import { runWith } from './shell/terminal.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 4, 10, 0, 30);
const times = { lookBackMs: 7 * DAY_MS, catchUpMs: 90 * DAY_MS };
const refuse = (text: string) => assert.fail(text);
const [days] = DAILY.plans({ fields: ['OHLC'], ...times });
const windows = days?.windows;

test('windows that the processor follows, or followed an hour ago, are refused; of another kind, only open ones', async () => {
  assert.ok(windows);
  const fromMs = Date.UTC(2026, 0, 1);
  const toMs = Date.UTC(2026, 4, 2);
  for (const [isFollowed, lastMs, why] of [
    [
      true,
      toMs,
      /expected a --to that excludes the windows of the price processor: .*lookBack.*The latest --to is 2026-05-01\./,
    ],
    [
      false,
      Date.UTC(2026, 4, 10),
      /expected a --to that excludes the windows that are still open: windows that open at 2026-05-10.*latest --to is 2026-05-09/,
    ],
  ] as const) {
    const now = { wallMs: NOW_MS, isFollowed };
    checkRange({ fromMs, toMs: lastMs }, windows, now, refuse);
    assert.throws(() => checkRange({ fromMs, toMs: lastMs + DAY_MS }, windows, now, refuse), why);
  }
  const { stdout } = await runWith(['backfill', '--help']);
  assert.match(stdout, /A later --to is refused, .* names the latest --to/s);
});

test('a backfill takes half of the limit, or what it is given within the limit', () => {
  const rates = [null, 0.1, 20].map((rate) => checkedRate(rate, 20, refuse));
  assert.deepEqual(rates, [10, 0.1, 20]);
  for (const rate of [0, -1, 20.1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => checkedRate(rate, 20, refuse), /at most marketData\.requestsPerSecond/, String(rate));
  }
});

test('a page has few windows, and a part of the range no more than a response may hold', () => {
  const fromMs = 0;
  assert.deepEqual(pagePlan({ fromMs, toMs: DAY_MS }, DAY_MS, 5_000).instruments, 1_000);
  assert.deepEqual(pagePlan({ fromMs, toMs: DAY_MS }, DAY_MS, 300).instruments, 300);
  assert.deepEqual(pagePlan({ fromMs, toMs: 400 * DAY_MS }, DAY_MS, 500).instruments, 50);
  const minutes = pagePlan({ fromMs, toMs: 30 * DAY_MS }, 300_000, 500);
  assert.equal(minutes.instruments, 2);
  assert.equal(minutes.slices.length, 2);
  const year = pagePlan({ fromMs, toMs: 365 * DAY_MS }, 300_000, 500);
  assert.equal(year.instruments, 1);
  let next = 0;
  for (const slice of year.slices) {
    assert.equal(slice.fromMs, next);
    assert.ok(slice.toMs - slice.fromMs <= 5_000 * 300_000);
    next = slice.toMs;
  }
  assert.equal(next, 365 * DAY_MS);
});

test('each part is a question of its own, and a window at its end belongs to the next one', () => {
  const slice = { fromMs: Date.UTC(2026, 0, 1), toMs: Date.UTC(2026, 0, 3) };
  assert.deepEqual(days?.query(slice), {
    kind: 'daily',
    dateFrom: '2026-01-01',
    dateTo: '2026-01-02',
    fields: 'OHLC',
    orderByAscending: true,
  });
  const [hours] = INTRADAY.plans({ fields: ['Close'], interval: ['Hour_1'], ...times });
  assert.deepEqual(hours?.query(slice), {
    kind: 'intraday',
    interval: 'Hour_1',
    dateFrom: '2026-01-01T00:00:00Z',
    dateTo: '2026-01-03T00:00:00Z',
    fields: 'Close',
  });
  const inside = ['7/OHLC/2026-01-01', '7/OHLC/2026-01-02', '7/Hour_1/Close/2026-01-02T23:00:00Z'];
  const outside = ['7/OHLC/2025-12-31', '7/OHLC/2026-01-03', '7/Hour_1/Close/2026-01-03T00:00:00Z', '7/OHLC/never'];
  for (const key of inside) assert.ok(opensWithin(key, slice), key);
  for (const key of outside) assert.ok(!opensWithin(key, slice), key);
});
