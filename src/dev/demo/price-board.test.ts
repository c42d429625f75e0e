import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bulkPricesFrom, questionsFor } from '../../../test/support/decoding/bulk-answers.ts';
import { skippingClock } from '../../../test/support/runner/manual-clock.ts';
import { collector } from '../../../test/unit/commands/shell/terminal.ts';
import type { BatchPriced, Freshness } from '../../observe/events.ts';
import { createProgressLine } from '../local-stack/progress-line.ts';
import { displayWidth } from './display-width.ts';
import { createLiveBlock } from './live-block.ts';
import { createPriceBoard } from './price-board.ts';

/** A committed batch with these quotes, one instrument for each quote. The ids are 1, 2, 3 … */
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
  const more = { deadLetters: 0, deadLettersOfRepaid: 0, tombstones: {}, commitMs: 1, answered: quotes.length };
  const where = { topic: 'instruments', partition: 0, kind: 'overview' } as const;
  return { ...where, ...counts, ...more, items: quotes.length, prices: priced };
}

test('the table shows the first products that have a quote, with all digits, and the decimal points in one column', async () => {
  const board = createPriceBoard(skippingClock(), 10_000);
  board.events.batchPriced(
    await batchOf([
      ['1.5', '12.123456789012345678'],
      ['null', '2'],
      ['100', '101'],
    ]),
  );
  assert.deepEqual(board.knownIds(), ['1', '3']);
  assert.deepEqual(board.table(new Map([['1', 'Tracker']]), 100), [
    'isin          name            bid                     ask  observed (UTC)  quoting',
    'CH0000000000  Tracker         1.5   12.123456789012345678        03:04:05',
    'CH0000000002  instrument 3  100    101                           03:04:05',
  ]);
});

test('while the quotes of a product are pulled, its last bid and ask stay', async () => {
  const board = createPriceBoard(skippingClock(), 10_000);
  board.events.batchPriced(await batchOf([['null', 'null']], true));
  assert.deepEqual(board.knownIds(), []);
  board.events.batchPriced(await batchOf([['1.5', '1.6']]));
  board.events.batchPriced(await batchOf([['null', 'null']], true));
  assert.match(board.table(new Map(), 100)[1] ?? '', / 1\.5 +1\.6 +03:04:05 +pulled$/);
});

test('on a narrow terminal, names are cut and columns are omitted; texts break at blanks; no number or address is cut', async () => {
  const board = createPriceBoard(skippingClock(), 10_000);
  board.events.batchPriced(await batchOf([['112.12345678901234567', '12.123456789012345678']], true));
  const names = new Map([['1', 'Barrier Reverse Convertible on three']]);
  const shown = { 110: '03:04:05 +pulled', 85: '03:04:05', 80: '', 70: '' };
  for (const [columns, last] of Object.entries(shown)) {
    const [, row = ''] = board.table(names, Number(columns));
    assert.match(row, new RegExp(` 112\\.12345678901234567 +12\\.123456789012345678 *${last}$`), columns);
    assert.ok(row.length < Number(columns), row);
  }
  // A terminal shows each of these characters in two columns, and the accent in none.
  for (const [name, cut] of [
    ['日本株価指数連動債', '日本株価指…'],
    ['👩‍🔬🇨🇭❤️ Note', '👩‍🔬🇨🇭❤️ Note'],
    ['Cafe\u0301 Barriers', 'Cafe\u0301 Barrie…'],
  ] as const) {
    const rows = board.table(new Map([['1', name]]), 73);
    const at = rows[0]?.indexOf('bid') ?? 0;
    assert.equal(displayWidth((rows[1] ?? '').split('  112.')[0] ?? ''), at - 20, name);
    assert.ok(rows[1]?.includes(`  ${cut} `), rows[1]);
  }
  const [block, line] = [collector(), collector()];
  const size = { isTTY: true, columns: 40 };
  const live = createLiveBlock(Object.assign(block.stream, size));
  const address = `Status page http://127.0.0.1:8083/${'x'.repeat(30)}`;
  live.show([address, 'short']);
  live.print('an event');
  // Two rows of the address and two other rows are erased.
  const folded = address.replace('page ', 'page\n');
  assert.deepEqual(block.text().split('\u001b[4A\u001b[J'), [`${folded}\nshort\n`, `an event\n${folded}\nshort\n`]);
  createProgressLine(Object.assign(line.stream, size), () => 0).show('Prices: 5,000 of 5,000 priced · age p50 12.25 s');
  assert.equal(line.text(), '\r\u001b[KPrices: 5,000 of 5,000 priced · age …');
});

test('another product replaces a product without new prices, but not while all prices are paused', async () => {
  const clock = skippingClock();
  const board = createPriceBoard(clock, 10_000);
  const all = await batchOf(Array.from({ length: 9 }, () => ['1', '2'] as const));
  const shown = () => board.table(new Map(), 100).flatMap((row) => /instrument (\d)/.exec(row)?.[1] ?? []);
  board.events.batchPriced(all);
  await clock.sleep(3_600_000);
  assert.equal(shown().join(''), '12345678', 'an hour without any price is a pause');
  board.events.batchPriced({ ...all, prices: all.prices.slice(1) });
  assert.equal(shown().join(''), '23456789');
});

test('the line of freshness reports ages, overdue prices, rates and failures', async () => {
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
  for (const items of [500, 100])
    board.events.bulkAnswered({ kind: 'overview', items, durationMs: 1, drift: 0, roundedNumbers: 0 });
  assert.equal(
    board.freshnessLine(),
    '990 of 1,002 priced · age p50 1.0 s, p99 2.0 s, max 3.0 s · 3 not answered yet · 7 repaid · 1 overdue · failing: 2 status 404 · 60 items/s in 0.2 calls/s',
  );
});
