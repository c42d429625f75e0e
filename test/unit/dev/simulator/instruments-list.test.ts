import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStandingClock } from '../../../../src/dev/simulator/clock.ts';
import { startProvider, walk } from './provider-client.ts';

const LIST = '/reference-data/v1/instruments';

test('following links.next gives exactly the universe of the ledger, byte by byte', async (t) => {
  const provider = await startProvider(t, { instruments: 137 });
  provider.simulator.change(200);
  const ledger = [...provider.simulator.ledger.instruments()].map(({ text }) => text);
  assert.deepEqual(await walk(provider, `${LIST}?limit=10`), ledger);
  assert.equal(ledger.length, provider.simulator.size);
});

test('the list lags behind the event log by the given time and then shows the change', async (t) => {
  const clock = createStandingClock(Date.UTC(2026, 0, 5));
  const provider = await startProvider(t, { instruments: 10, listLagMs: 3_000, clock, tokenLifetimeSeconds: 86_400 });
  const before = await walk(provider, LIST);
  const { id } = provider.simulator.publish({ kind: 'newissue' });
  provider.simulator.publish({ kind: 'vanish', id: '1000000' });
  provider.simulator.publish({ kind: 'datachange', id: String(JSON.parse(before[3] ?? '').id) });
  assert.deepEqual(await walk(provider, LIST), before);
  clock.advance(3_000);
  const after = await walk(provider, LIST);
  assert.deepEqual(
    after,
    [...provider.simulator.ledger.instruments()].map(({ text }) => text),
  );
  assert.notDeepEqual(after, before);
  assert.ok(after.some((text) => text.startsWith(`{"id":${id},`)));
});

test('a lag that varies shows at times the old row and at times the new one', async (t) => {
  const clock = createStandingClock(Date.UTC(2026, 0, 5));
  const options = { instruments: 10, listLagMs: 3_000, listLagVaries: true, clock, tokenLifetimeSeconds: 86_400 };
  const provider = await startProvider(t, options);
  provider.simulator.publish({ kind: 'newissue' });
  provider.simulator.publish({ kind: 'newissue' });
  provider.simulator.publish({ kind: 'vanish', id: [...provider.simulator.ledger.instruments()][0]?.id ?? '' });
  clock.advance(1_500);
  const sizes = new Set<number>();
  for (let asked = 0; asked < 30; asked++) sizes.add((await provider.get(LIST)).json.instruments.length);
  assert.deepEqual([...sizes].sort(), [10, 11]);
});

test('an event between two requests of a walk can be placed exactly', async (t) => {
  const provider = await startProvider(t, { instruments: 10 });
  const seen: string[] = [];
  const stop = provider.simulator.onRequest((endpoint, url) => {
    seen.push(`${endpoint}${url.search}`);
    if (url.searchParams.has('minId')) provider.simulator.publish({ kind: 'newissue' });
  });
  await walk(provider, `${LIST}?limit=8`);
  stop();
  await provider.get(LIST);
  assert.equal(seen.length, 2);
  assert.equal(provider.simulator.size, 11);
});
