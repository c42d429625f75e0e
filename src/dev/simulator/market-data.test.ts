import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProviderClient, startProvider } from '../../../test/support/simulator-client.ts';
import { createStandingClock } from './clock.ts';

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

test('instruments with ids above 2^53 and new instruments have prices; removed instruments have none', async (t) => {
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

test('intraday windows are contiguous, lie within the bounds and end with the open window', async (t) => {
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
