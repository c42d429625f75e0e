import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProvider, walk } from '../../../test/support/simulator-client.ts';
import { createStandingClock } from './clock.ts';

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
