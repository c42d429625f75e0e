import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStandingClock } from '../../../src/simulator/clock.ts';
import { startProvider, walk } from './provider-client.ts';

const LIST = '/reference-data/v1/instruments';

test('following links.next gives exactly the universe of the ledger, byte by byte', async (t) => {
  const provider = await startProvider(t, { instruments: 137 });
  provider.simulator.change(200);
  const ledger = [...provider.simulator.ledger.instruments()].map(({ text }) => text);
  assert.deepEqual(await walk(provider, `${LIST}?limit=10`), ledger);
  assert.equal(ledger.length, provider.simulator.size);
});

test('a page that the list fills exactly is the last one', async (t) => {
  const provider = await startProvider(t, { instruments: 20 });
  const first = await provider.get(`${LIST}?limit=10`);
  assert.match(first.json.links.next, /^\/reference-data\/v1\/instruments\?minId=\d+&limit=10$/);
  const second = await provider.get(first.json.links.next);
  assert.equal(second.json.instruments.length, 10);
  assert.equal(second.json.links.next, null);
});

test('without a limit a page has 1000 instruments', async (t) => {
  const provider = await startProvider(t, { instruments: 1_001 });
  const page = await provider.get(LIST);
  assert.equal(page.json.instruments.length, 1_000);
  assert.match(page.json.links.next, /limit=1000$/);
});

test('behind the last row the list is empty', async (t) => {
  const provider = await startProvider(t, { instruments: 5 });
  const last = [...provider.simulator.ledger.instruments()].at(-1);
  const page = await provider.get(`${LIST}?minId=${BigInt(last?.id ?? 0) + 1n}`);
  assert.deepEqual([page.json.instruments, page.json.links.next], [[], null]);
});

test('the last row of a page comes again on the next one when borders overlap', async (t) => {
  const provider = await startProvider(t, { instruments: 19, minIdMode: 'overlapping' });
  const rows = await walk(provider, `${LIST}?limit=10`);
  assert.equal(rows.length, 20);
  assert.equal(rows[9], rows[10]);
  assert.deepEqual(new Set(rows).size, 19);
  assert.equal((await walk(provider, `${LIST}?limit=1`)).length, 19);
});

test('minId excludes itself when the mode is exclusive, and the walk is whole', async (t) => {
  const provider = await startProvider(t, { instruments: 25, minIdMode: 'exclusive' });
  const ledger = [...provider.simulator.ledger.instruments()];
  assert.equal((await walk(provider, `${LIST}?limit=10`)).length, 25);
  const page = await provider.get(`${LIST}?minId=${ledger[0]?.id}`);
  assert.equal(page.json.instruments.length, 24);
});

test('legalCountry keeps the instruments of that country and stays in the links', async (t) => {
  const provider = await startProvider(t, { instruments: 100 });
  const german = [...provider.simulator.ledger.instruments({ legalCountry: 'DE' })].map(({ text }) => text);
  assert.ok(german.length > 10 && german.length < 60);
  assert.deepEqual(await walk(provider, `${LIST}?legalCountry=DE&limit=5`), german);
  const page = await provider.get(`${LIST}?legalCountry=DE&limit=5`);
  assert.match(page.json.links.next, /legalCountry=DE&minId=\d+&limit=5$/);
  assert.match(page.json.links.events, /events\?legalCountry=DE&since=\d+-\d+$/);
  assert.ok(german.every((text) => text.includes('"legalCountry":"DE"')));
});

test('the /my list is a part of the list that does not change from call to call', async (t) => {
  const provider = await startProvider(t, { instruments: 200 });
  const mine = await walk(provider, `${LIST}/my?limit=20`);
  const all = new Set(await walk(provider, LIST));
  assert.ok(mine.length > 20 && mine.length < 100, `${mine.length} of 200 are mine.`);
  assert.ok(mine.every((text) => all.has(text)));
  assert.deepEqual(await walk(provider, `${LIST}/my?limit=7`), mine);
  assert.deepEqual(
    [...provider.simulator.ledger.instruments({ mine: true })].map(({ text }) => text),
    mine,
  );
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

test('ids beyond 2^53 are written digit by digit and can be asked for', async (t) => {
  const provider = await startProvider(t, { instruments: 10, hugeIds: 4 });
  const rows = await walk(provider, `${LIST}?limit=3`);
  assert.ok(rows.at(-1)?.startsWith('{"id":9007199254740999,'));
  const page = await provider.get(`${LIST}?minId=9007199254740997`);
  assert.equal(page.json.instruments.length, 2);
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

for (const query of ['limit=0', 'limit=abc', 'limit=5001', 'limit=1.5', 'minId=-1', 'minId=x', 'limit=1&limit=2']) {
  test(`the list refuses ${query} with the name of the parameter`, async (t) => {
    const provider = await startProvider(t);
    const answer = await provider.get(`${LIST}?${query}`);
    assert.equal(answer.status, 400);
    assert.match(answer.headers['content-type'] ?? '', /^application\/problem\+json/);
    assert.ok(Array.isArray(answer.json.errors[query.split('=')[0] ?? '']));
  });
}
