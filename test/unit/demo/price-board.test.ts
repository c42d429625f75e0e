import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPriceBoard, wrapped } from '../../../src/demo/price-board.ts';
import type { BatchPriced, Freshness } from '../../../src/observability/processor-events.ts';
import { bulkPricesFrom, questionsFor } from '../../support/decoding/bulk-answers.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

/** A committed batch with these quotes, one instrument for each; the ids are 1, 2, 3 … */
async function batchOf(
  quotes: readonly (readonly [bid: string, ask: string])[],
  isQuotingPulled = false,
): Promise<BatchPriced> {
  const isins = quotes.map((_, at) => `CH000000000${at}`);
  const items = quotes.map(([bid, ask], at) => {
    const lastPrice = `{"bid":${bid},"ask":${ask},"isQuotingPulled":${isQuotingPulled},"observedAtTimestamp":"2026-01-02T03:04:05Z"}`;
    const response = `{"$type":"ProductPriceOverviewResponse","lastPrice":${lastPrice}}`;
    return `{"responseIdentifier":{"isin":"${isins[at]}"},"response":${response},"errorResponse":null}`;
  });
  const { prices } = bulkPricesFrom(`{"errors":false,"items":[${items.join(',')}]}`);
  const { answers } = await prices.ask('overview', questionsFor(isins), new AbortController().signal);
  const priced = answers.flatMap((answer, at) =>
    answer.kind === 'prices'
      ? [{ instrumentId: String(at + 1), isin: isins[at] ?? '', values: answer.records.map(({ value }) => value) }]
      : [],
  );
  const counts = { priced: priced.length, records: 0, unchanged: 0, problems: 0, unusable: 0, dropped: 0, inputs: 0 };
  const more = {
    withoutIsin: 0,
    gone: 0,
    postponed: 0,
    deadLetters: 0,
    tombstones: {},
    calls: 2,
    drift: 0,
    roundedNumbers: 0,
    errorsFlagDiffers: 0,
  };
  const times = { askMs: 1, commitMs: 1 };
  const where = { topic: 'instruments', partition: 0, kind: 'overview' } as const;
  return { ...where, ...counts, ...more, ...times, items: quotes.length, prices: priced };
}

test('the table shows the first products with a quote, every digit of it, point under point', async () => {
  const board = createPriceBoard(skippingClock(), 10_000);
  board.events.batchPriced(
    await batchOf([
      ['1.5', '12.123456789012345678'],
      ['null', '2'],
      ['100', '101'],
    ]),
  );
  assert.deepEqual(board.knownIds(), ['1', '3']);
  assert.deepEqual(board.table(new Map([['1', 'Tracker']])), [
    'isin          name            bid                     ask  observed (UTC)',
    'CH0000000000  Tracker         1.5   12.123456789012345678        03:04:05',
    'CH0000000002  instrument 3  100    101                           03:04:05',
  ]);
});

test('on a narrow terminal names are shortened, and the line of freshness goes on below', async () => {
  const board = createPriceBoard(skippingClock(), 10_000);
  board.events.batchPriced(await batchOf([['1.5', '12.123456789012345678']]));
  const names = new Map([['1', 'Barrier Reverse Convertible on three']]);
  assert.match(board.table(names)[1] ?? '', / {2}Barrier Reverse Convertible on … {2}/);
  assert.ok(board.table(names, 80).every((row) => row.length < 80));
  assert.match(board.table(names, 80)[1] ?? '', /12\.123456789012345678 +03:04:05$/);
  assert.match(board.table(names, 20)[1] ?? '', / {2}Barrier… {2}/);
  assert.deepEqual(wrapped('10 of 10 priced · age p50 1 s · 0 overdue', 33), [
    '10 of 10 priced · age p50 1 s',
    '  0 overdue',
  ]);
  assert.deepEqual(wrapped('10 of 10 priced · 0 overdue'), ['10 of 10 priced · 0 overdue']);
});

test('a product that is shown keeps its row and takes its newest price', async () => {
  const board = createPriceBoard(skippingClock(), 10_000);
  board.events.batchPriced(await batchOf(Array.from({ length: 9 }, () => ['1', '2'] as const)));
  board.events.batchPriced(await batchOf([['3', '4']]));
  assert.equal(board.table(new Map()).length, 1 + 8);
  assert.match(board.table(new Map())[1] ?? '', /instrument 1 +3 +4 /);
});

test('a product without further prices leaves the table to another one, but not while all prices are paused', async () => {
  const clock = skippingClock();
  const board = createPriceBoard(clock, 10_000);
  const [first, ...others] = Array.from({ length: 9 }, () => ['1', '2'] as const);
  const all = await batchOf([...others, first ?? ['1', '2']]);
  const withoutFirst = { ...all, prices: all.prices.slice(1) };
  const shown = () =>
    board
      .table(new Map())
      .map((row) => /instrument (\d)/.exec(row)?.[1] ?? '')
      .join('');
  board.events.batchPriced(all);
  assert.equal(shown(), '12345678');
  await clock.sleep(3_600_000);
  board.events.batchPriced(withoutFirst);
  assert.equal(shown(), '12345678', 'an hour without any price is a pause');
  for (let refresh = 0; refresh < 3; refresh++) {
    await clock.sleep(10_000);
    board.events.batchPriced(withoutFirst);
  }
  assert.equal(shown(), '23456789');
});

test('a product whose quoting is pulled says so: its price does not move', async () => {
  const board = createPriceBoard(skippingClock(), 10_000);
  board.events.batchPriced(await batchOf([['1', '2']], true));
  assert.match(board.table(new Map())[1] ?? '', /03:04:05, quoting pulled$/);
});

test('the line of freshness reports ages, what is overdue, the rates and what fails', async () => {
  const clock = skippingClock();
  const board = createPriceBoard(clock, 10_000);
  assert.equal(board.freshnessLine(), 'Prices: none yet');
  const none = {
    kind: 'overview',
    kinds: [],
    ages: [],
    pulled: 0,
    unreadable: 0,
    unansweredInputs: 0,
    lag: 0,
  } as const;
  const ages = { ageP50Ms: 1_000, ageP99Ms: 2_040, ageMaxMs: 3_000 };
  const now: Freshness = {
    ...none,
    ...ages,
    instruments: 1_002,
    priced: 990,
    waiting: 3,
    repaid: 7,
    overdue: 1,
    failing: { 'status 404': 2 },
  };
  board.events.processorStarted({ groupId: 'g', topics: [], kinds: ['overview'], freshness: () => now });
  await clock.sleep(60_000);
  board.events.batchPriced(
    await batchOf([
      ['1', '2'],
      ['1', '2'],
    ]),
  );
  assert.equal(
    board.freshnessLine(),
    '990 of 1,002 priced · age p50 1.0 s, p99 2.0 s, max 3.0 s · 3 waiting · 7 repaid · 1 overdue · failing: 2 status 404 · 0 items/s in 0.2 calls/s',
  );
});
