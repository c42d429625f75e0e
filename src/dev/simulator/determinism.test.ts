import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProvider } from '../../../test/support/simulator-client.ts';
import { createStandingClock } from './clock.ts';

const START_MS = Date.UTC(2026, 0, 5, 9);

async function everything(t: import('node:test').TestContext, seed: number): Promise<string[]> {
  const clock = createStandingClock(START_MS);
  const { get, post, simulator } = await startProvider(t, { seed, clock, auth: false, instruments: 40 });
  simulator.change(60);
  clock.advance(90_000);
  simulator.change(60);
  const isin = JSON.parse([...simulator.ledger.instruments()][0]?.text ?? '').identifiers[0].value;
  const types = ['ProductPriceOverviewRequest', 'ProductDailyPriceRequest', 'ProductIntradayPriceRequest'];
  const items = types.map(($type) => ({ $type, isin }));
  const answers = [
    await get('/reference-data/v1/instruments'),
    await get('/reference-data/v1/instruments/my'),
    await get(`/reference-data/v1/instruments/events?since=${START_MS}-0`),
    await get('/reference-data/v1/pretradechecks'),
    await post('/market-data/v1/products/bulk', JSON.stringify({ items })),
  ];
  return answers.map(({ text }) => text);
}

test('two simulators with one seed give the same bytes, and another seed gives others', async (t) => {
  const [first, second, other] = [await everything(t, 7), await everything(t, 7), await everything(t, 8)];
  assert.deepEqual(first, second);
  for (const [at, text] of first.entries()) assert.notEqual(text, other[at]);
});
