import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStandingClock } from '../../../src/simulator/clock.ts';
import { startProvider } from './provider-client.ts';

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

test('another seed lets other things happen in another order', async (t) => {
  const lives = [7, 7, 8].map(async (seed) => {
    const { simulator } = await startProvider(t, { seed, auth: false });
    simulator.change(50);
    return [...simulator.ledger.events()].map(({ type }) => type).join();
  });
  const [first, second, other] = await Promise.all(lives);
  assert.equal(first, second);
  assert.notEqual(first, other);
});

test('changes come at the given rate as real time goes, and stop when the rate is zero', async (t) => {
  const clock = createStandingClock(START_MS);
  const provider = await startProvider(t, {
    clock,
    auth: false,
    mutationsPerSecond: 20,
    filteredShare: 0,
    checkShare: 0,
  });
  const count = () => [...provider.simulator.ledger.events()].length;
  clock.advance(10_000);
  await provider.get('/reference-data/v1/instruments?limit=1');
  assert.ok(count() > 150 && count() <= 200, `${count()} of 200 changes had an event.`);
  const made = count();
  await provider.get('/reference-data/v1/instruments?limit=1');
  assert.equal(count(), made, 'Without time nothing more becomes due.');
  provider.simulator.setChangeRate(0);
  const before = count();
  clock.advance(10_000);
  await provider.get('/reference-data/v1/instruments?limit=1');
  assert.equal(count(), before);
});
