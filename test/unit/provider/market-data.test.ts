import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PriceQuery } from '../../../src/config/price-kinds/all.ts';
import type { HttpRequest } from '../../../src/provider/http/client.ts';
import { createMarketData } from '../../../src/provider/market-data.ts';

const SIGNAL = new AbortController().signal;
const nothing = async () => {};

function recording() {
  const asked: (HttpRequest & { readonly body?: string })[] = [];
  const record = (request: HttpRequest) => {
    asked.push(request);
    return Promise.reject(new Error('only recorded'));
  };
  return { asked, marketData: createMarketData({ http: { get: record, post: record } }) };
}

const QUERIES: Readonly<Record<string, readonly [query: PriceQuery, members: object, parameters: string]>> = {
  'an overview of everything': [{ kind: 'overview', fields: [] }, { $type: 'ProductPriceOverviewRequest' }, ''],
  'an overview of some fields': [
    { kind: 'overview', fields: ['LastPrice', 'LastOpen'] },
    { $type: 'ProductPriceOverviewRequest', fields: ['LastPrice', 'LastOpen'] },
    'fields=LastPrice&fields=LastOpen',
  ],
  'daily prices by default': [
    { kind: 'daily', dateFrom: null, dateTo: null, fields: null, orderByAscending: true },
    { $type: 'ProductDailyPriceRequest', orderByAscending: true },
    'orderByAscending=true',
  ],
  'daily prices with every parameter': [
    { kind: 'daily', dateFrom: '2026-01-01', dateTo: '2026-01-07', fields: 'OHLC', orderByAscending: true },
    {
      $type: 'ProductDailyPriceRequest',
      dateFrom: '2026-01-01',
      dateTo: '2026-01-07',
      fields: 'OHLC',
      orderByAscending: true,
    },
    'dateFrom=2026-01-01&dateTo=2026-01-07&fields=OHLC&orderByAscending=true',
  ],
  'intraday prices': [
    { kind: 'intraday', interval: 'Hour_1', dateFrom: '2026-01-07T09:00:00+01:00', dateTo: null, fields: 'BidAsk' },
    {
      $type: 'ProductIntradayPriceRequest',
      interval: 'Hour_1',
      dateFrom: '2026-01-07T09:00:00+01:00',
      fields: 'BidAsk',
    },
    'interval=Hour_1&dateFrom=2026-01-07T09:00:00+01:00&fields=BidAsk',
  ],
};

for (const [what, [query, { $type, ...members }, parameters]] of Object.entries(QUERIES) as [
  string,
  [PriceQuery, { $type: string }, string],
][]) {
  test(`${what} are asked for as the interface says, in bulk and alone`, async () => {
    const { marketData, asked } = recording();
    await marketData.bulk([{ isin: 'CH1', query }], nothing, SIGNAL).catch(nothing);
    await marketData.single({ isin: 'CH1', query }, nothing, SIGNAL).catch(nothing);
    const [bulk, single] = asked;
    assert.equal(bulk?.path, '/v1/products/bulk');
    assert.deepEqual(JSON.parse(bulk?.body ?? ''), { items: [{ $type, isin: 'CH1', ...members }] });
    assert.equal(single?.path, `/v1/products/CH1/prices/${query.kind}`);
    assert.equal((single?.query ?? []).map(([name, value]) => `${name}=${value}`).join('&'), parameters);
  });
}

test('an isin is part of the path, whatever stands in it, and of no error', async () => {
  const { marketData, asked } = recording();
  for (const isin of ['a/../b?c', 'é #', '\ud800']) {
    await marketData.single({ isin, query: { kind: 'overview', fields: [] } }, nothing, SIGNAL).catch(nothing);
  }
  const segments = asked.map(({ path }) => path.split('/')[3]);
  assert.deepEqual(segments, ['a%2F..%2Fb%3Fc', '%C3%A9%20%23', '%EF%BF%BD']);
  assert.ok(asked.every(({ endpoint }) => endpoint === '/v1/products/{isin}/prices/overview'));
});

test('the response about one product may have 16 MiB, a bulk response what the settings say', async () => {
  const { marketData, asked } = recording();
  const query: PriceQuery = { kind: 'overview', fields: [] };
  await marketData.bulk([], nothing, SIGNAL).catch(nothing);
  await marketData.single({ isin: 'A', query }, nothing, SIGNAL).catch(nothing);
  const limits = asked.map(({ maxBodyBytes }) => maxBodyBytes);
  assert.deepEqual(limits, [undefined, 16_777_216]);
});
