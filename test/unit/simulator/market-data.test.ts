import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStandingClock } from '../../../src/simulator/clock.ts';
import { DAILY_FIELDS, INTRADAY_FIELDS, OVERVIEW_FIELDS } from '../../../src/simulator/price-query.ts';
import { type ProviderClient, rowTexts, startProvider } from './provider-client.ts';

/** A Wednesday. */
const NOW_MS = Date.UTC(2026, 0, 7, 12, 2, 30);
const PRODUCTS = '/market-data/v1/products';

const isinsOf = (provider: ProviderClient): string[] =>
  [...provider.simulator.ledger.instruments()].map(({ text }) => JSON.parse(text).identifiers[0].value);

async function start(t: import('node:test').TestContext, options = {}) {
  const provider = await startProvider(t, { clock: createStandingClock(NOW_MS), auth: false, ...options });
  const isins = isinsOf(provider);
  return { ...provider, isins, isin: isins[0] ?? '' };
}

test('a bulk response has one typed entry per item, in the order of the request', async (t) => {
  const { post, isins } = await start(t);
  const items = isins.flatMap((isin) => [
    { $type: 'ProductPriceOverviewRequest', isin },
    { $type: 'ProductIntradayPriceRequest', isin, interval: 'Hour_1', fields: 'OHLC', dateFrom: null },
    { $type: 'ProductDailyPriceRequest', isin, fields: 'LastBidAsk', orderByAscending: true, count: 3 },
  ]);
  const { status, json } = await post(`${PRODUCTS}/bulk`, JSON.stringify({ items }));
  assert.deepEqual([status, json.errors], [200, false]);
  assert.deepEqual(
    json.items.map((item: { responseIdentifier: { isin: string } }) => item.responseIdentifier.isin),
    items.map(({ isin }) => isin),
  );
  for (const [at, item] of json.items.entries()) {
    assert.equal(item.response.$type, items[at]?.$type.replace('Request', 'Response'));
    assert.equal(item.errorResponse, null);
  }
});

test('instruments with ids beyond 2^53 and new ones have prices, gone ones have none', async (t) => {
  const { get, isins, simulator } = await start(t, { hugeIds: 3 });
  assert.equal((await get(`${PRODUCTS}/${isins.at(-1)}/prices/overview`)).status, 200);
  const { id } = simulator.publish({ kind: 'newissue' });
  const fresh = [...simulator.ledger.instruments()].find((one) => one.id === id);
  const isin = JSON.parse(fresh?.text ?? '').identifiers[0].value;
  assert.equal((await get(`${PRODUCTS}/${isin}/prices/overview`)).status, 200);
  simulator.publish({ kind: 'vanish', id: id ?? '' });
  assert.equal((await get(`${PRODUCTS}/${isin}/prices/overview`)).status, 404);
  const instrument = '{"id":9,"identifiers":[{"type":"ISIN","value":"anything at all"}]}';
  simulator.publish({ kind: 'replace', id: '9', instrument });
  assert.equal((await get(`${PRODUCTS}/anything%20at%20all/prices/overview`)).status, 200);
});

test('an unknown isin is a failed item in bulk and 404 alone', async (t) => {
  const { get, post, isin } = await start(t);
  const items = ['XS0000000009', isin].map((one) => ({ $type: 'ProductPriceOverviewRequest', isin: one }));
  const { json } = await post(`${PRODUCTS}/bulk`, JSON.stringify({ items }));
  assert.equal(json.errors, true);
  assert.deepEqual([json.items[0].response, json.items[0].errorResponse.status], [null, 404]);
  assert.deepEqual([json.items[1].response === null, json.items[1].errorResponse], [false, null]);
  for (const kind of ['overview', 'daily', 'intraday']) {
    assert.equal((await get(`${PRODUCTS}/XS0000000009/prices/${kind}`)).status, 404);
  }
});

test('the overview has every field, and null for what was not asked for', async (t) => {
  const { get, isin } = await start(t);
  const names = [
    'lastOpen',
    'lastDayHigh',
    'lastDayLow',
    'lastClose',
    'dailyPerformanceBasePrice',
    'ytdPerformanceBasePrice',
    'lastAccruedInterest',
  ];
  const fields = [
    '$type',
    'lastPrice',
    'lastCloseMethod',
    ...names,
    ...names.map((name) => `${name}ObservedAtTimestamp`),
  ];
  const whole = (await get(`${PRODUCTS}/${isin}/prices/overview`)).json;
  assert.deepEqual(Object.keys(whole).sort(), fields.toSorted());
  assert.ok(Object.values(whole).every((value) => value !== null));
  const quote = ['ask', 'askSize', 'bid', 'bidSize', 'isQuotingPulled', 'observedAtTimestamp'];
  assert.deepEqual(Object.keys(whole.lastPrice).sort(), quote);
  const some = (await get(`${PRODUCTS}/${isin}/prices/overview?fields=LastOpen&fields=LastClose`)).json;
  const given = Object.keys(some).filter((name) => some[name] !== null);
  assert.deepEqual(given, [
    '$type',
    'lastOpen',
    'lastOpenObservedAtTimestamp',
    'lastClose',
    'lastCloseObservedAtTimestamp',
    'lastCloseMethod',
  ]);
  assert.equal(OVERVIEW_FIELDS.length, 8);
});

test('prices move with time and only with time', async (t) => {
  const { get, isin, simulator } = await start(t);
  const path = `${PRODUCTS}/${isin}/prices/overview?fields=LastPrice`;
  const first = (await get(path)).text;
  assert.equal((await get(path)).text, first);
  simulator.advanceClock(60_000);
  assert.notEqual((await get(path)).text, first);
});

test('quoting is pulled now and then, and prices come with 18 and 28 fraction digits', async (t) => {
  const { get, post, isins, simulator } = await start(t);
  const items = isins.map((isin) => ({ $type: 'ProductPriceOverviewRequest', isin }));
  let all = '';
  for (let round = 0; round < 5; round++) {
    all += (await post(`${PRODUCTS}/bulk`, JSON.stringify({ items }))).text;
    simulator.advanceClock(60_000);
  }
  assert.match(all, /"bid":null,"bidSize":null,"ask":null,"askSize":null,"isQuotingPulled":true/);
  assert.match(all, /"isQuotingPulled":false/);
  assert.match(all, /:\d+\.\d{18}[,}]/);
  assert.match(all, /:\d+\.\d{28}[,}]/);
  for (const method of ['Last', 'Close', 'Valuation']) assert.ok(all.includes(`"lastCloseMethod":"${method}"`));
  assert.match(all, /T\d\d:\d\d:\d\d\.\d{7}Z"/);
  assert.match(all, /T\d\d:\d\d:\d\d\.\d{3}\+00:00"/);
  assert.equal((await get(`${PRODUCTS}/${isins[0]}/prices/overview`)).status, 200);
});

test('intraday windows are contiguous, lie within the bounds and end with the one that is open', async (t) => {
  const { get, isin } = await start(t);
  const whole = (await get(`${PRODUCTS}/${isin}/prices/intraday`)).json.prices;
  assert.equal(whole.length, 288);
  assert.equal(whole.at(-1).windowOpenTimestamp, '2026-01-07T12:00:00Z');
  for (const [at, price] of whole.entries()) {
    if (at > 0) assert.equal(price.windowOpenTimestamp, whole[at - 1].windowCloseTimestamp);
  }
  const query = 'interval=Hour_1&dateFrom=2026-01-07T09:30:00%2B01:00&dateTo=2026-01-07T11:00:00Z&fields=OHLC';
  const hours = (await get(`${PRODUCTS}/${isin}/prices/intraday?${query}`)).json.prices;
  assert.deepEqual(
    hours.map((price: { windowOpenTimestamp: string }) => price.windowOpenTimestamp),
    ['2026-01-07T09:00:00Z', '2026-01-07T10:00:00Z', '2026-01-07T11:00:00Z'],
  );
  for (const { open, high, low, close } of hours) {
    assert.ok(low <= Math.min(open, close) && high >= Math.max(open, close));
  }
});

test('daily prices are of weekdays, newest first by default, and as many as asked for', async (t) => {
  const { get, isin } = await start(t);
  const path = `${PRODUCTS}/${isin}/prices/daily`;
  const dates = async (query: string) =>
    (await get(`${path}?${query}`)).json.prices.map(({ date }: { date: string }) => date);
  assert.deepEqual(await dates('count=4'), ['2026-01-07', '2026-01-06', '2026-01-05', '2026-01-02']);
  const ascending = await dates('dateFrom=2026-01-02&dateTo=2026-01-06&orderByAscending=true');
  assert.deepEqual(ascending, ['2026-01-02', '2026-01-05', '2026-01-06']);
  assert.ok((await dates('')).length > 250);
  assert.deepEqual(await dates('count=0'), []);
});

const POPULATED: Readonly<Record<string, readonly string[]>> = {
  'intraday Close': ['close'],
  'intraday OHLC': ['open', 'high', 'low', 'close'],
  'intraday BidAsk': ['bid', 'bidSize', 'ask', 'askSize'],
  'daily Close': ['close', 'closeMethod'],
  'daily CloseAccruedInterest': ['close', 'closeMethod', 'accruedInterest'],
  'daily OHLC': ['windowOpenTimestamp', 'windowCloseTimestamp', 'open', 'high', 'low', 'close', 'closeMethod'],
  'daily LastBidAsk': ['bid', 'bidSize', 'ask', 'askSize'],
  'daily LastBidAskAccruedInterest': ['bid', 'bidSize', 'ask', 'askSize', 'accruedInterest'],
};
for (const [kind, known] of [
  ['intraday', INTRADAY_FIELDS],
  ['daily', DAILY_FIELDS],
] as const) {
  for (const fields of known) {
    test(`${kind} prices for ${fields} carry exactly their fields`, async (t) => {
      const { get, isin } = await start(t);
      const { json } = await get(`${PRODUCTS}/${isin}/prices/${kind}?fields=${fields}`);
      const price = json.prices[0];
      const always = kind === 'daily' ? ['date'] : ['windowOpenTimestamp', 'windowCloseTimestamp'];
      const given = Object.keys(price).filter((name) => price[name] !== null && !always.includes(name));
      assert.deepEqual(given.sort(), POPULATED[`${kind} ${fields}`]?.toSorted());
    });
  }
}

const REFUSED = [
  ['overview', 'fields=LastPrice,LastOpen', 'fields'],
  ['overview', 'fields=lastPrice', 'fields'],
  ['intraday', 'interval=Minute_1', 'interval'],
  ['intraday', 'fields=Close&fields=OHLC', 'fields'],
  ['intraday', 'dateFrom=2026-01-07', 'dateFrom'],
  ['intraday', 'dateTo=yesterday', 'dateTo'],
  ['daily', 'dateFrom=2026-02-30', 'dateFrom'],
  ['daily', 'dateTo=07.01.2026', 'dateTo'],
  ['daily', 'count=-1', 'count'],
  ['daily', 'count=2147483648', 'count'],
  ['daily', 'orderByAscending=yes', 'orderByAscending'],
] as const;
for (const [kind, query, name] of REFUSED) {
  test(`${kind} prices refuse ${query}`, async (t) => {
    const { get, isin } = await start(t);
    const answer = await get(`${PRODUCTS}/${isin}/prices/${kind}?${query}`);
    assert.equal(answer.status, 400);
    assert.match(answer.headers['content-type'] ?? '', /^application\/problem\+json/);
    assert.deepEqual(Object.keys(answer.json.errors), [name]);
  });
}

const BAD_ITEMS = [
  [{ isin: 'X' }, 'items[0].$type'],
  [{ $type: 'ProductPriceRequest', isin: 'X' }, 'items[0].$type'],
  [{ $type: 'ProductDailyPriceRequest' }, 'items[0].isin'],
  [{ $type: 'ProductDailyPriceRequest', isin: 'X', count: '5' }, 'items[0].count'],
  [{ $type: 'ProductDailyPriceRequest', isin: 'X', fields: 'Open' }, 'items[0].fields'],
  [{ $type: 'ProductPriceOverviewRequest', isin: 'X', fields: 'LastPrice' }, 'items[0].fields'],
  [{ $type: 'ProductPriceOverviewRequest', isin: 'X', extra: 1 }, 'items[0].extra'],
  ['text', 'items[0].'],
] as const;
for (const [item, name] of BAD_ITEMS) {
  test(`a bulk request with the item ${JSON.stringify(item)} is refused whole`, async (t) => {
    const { post } = await start(t);
    const answer = await post(`${PRODUCTS}/bulk`, JSON.stringify({ items: [item] }));
    assert.equal(answer.status, 400);
    assert.deepEqual(Object.keys(answer.json.errors), [name]);
  });
}

test('bulk requests are refused when they are not JSON, have no items, or too many', async (t) => {
  const { post } = await start(t, { maxBulkItems: 2, bulkRefusalStatus: 413 });
  assert.equal((await post(`${PRODUCTS}/bulk`, '{"items":')).status, 400);
  assert.equal((await post(`${PRODUCTS}/bulk`, '{}')).status, 400);
  assert.equal((await post(`${PRODUCTS}/bulk`, '{"items":[]}', { 'content-type': 'text/plain' })).status, 415);
  assert.equal((await post(`${PRODUCTS}/bulk`, '{"items":[]}')).status, 200);
  const items = [1, 2, 3].map(() => ({ $type: 'ProductPriceOverviewRequest', isin: 'X' }));
  assert.equal((await post(`${PRODUCTS}/bulk`, JSON.stringify({ items }))).status, 413);
});

test('a share of instruments always fails with 500, the same ones each time', async (t) => {
  const { post, isins } = await start(t, { failingPricesShare: 0.3 });
  const items = isins.map((isin) => ({ $type: 'ProductPriceOverviewRequest', isin }));
  const failing = async () =>
    (await post(`${PRODUCTS}/bulk`, JSON.stringify({ items }))).json.items
      .filter((item: { errorResponse: { status: number } | null }) => item.errorResponse?.status === 500)
      .map((item: { responseIdentifier: { isin: string } }) => item.responseIdentifier.isin);
  const first = await failing();
  assert.ok(first.length > 5 && first.length < 35, `${first.length} of 60 fail.`);
  assert.deepEqual(await failing(), first);
});

test('the ledger has the exact text of each price that was served', async (t) => {
  const { get, isin, simulator } = await start(t, { keptPrices: 2 });
  const texts: string[] = [];
  for (let round = 0; round < 3; round++) {
    texts.push((await get(`${PRODUCTS}/${isin}/prices/overview`)).text);
    simulator.advanceClock(61_000);
  }
  const [entry] = [...simulator.ledger.prices()];
  assert.deepEqual([entry?.isin, entry?.served], [isin, 3]);
  assert.deepEqual(
    entry?.last.map(({ text }) => text),
    texts.slice(1),
  );
});

test('rows of a page are cut out whole by the test client', () => {
  assert.deepEqual(rowTexts('{"x":[{"a":"}]\\""},{"b":{"c":[1]}}],"d":[{}]}'), ['{"a":"}]\\""}', '{"b":{"c":[1]}}']);
});
