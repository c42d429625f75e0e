import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProviderClient, rowTexts, startProvider } from '../../../test/support/simulator-client.ts';
import { createStandingClock } from './clock.ts';

const DAY_MS = 86_400_000;
const EVENTS = '/reference-data/v1/instruments/events';

/** Polls until a response names its own end as the newest offset. Returns the texts of all events. */
async function pollAll(provider: ProviderClient, first: string): Promise<string[]> {
  const texts: string[] = [];
  let next = first;
  for (let polls = 0; polls < 500; polls++) {
    const answer = await provider.get(next);
    assert.equal(answer.status, 200, answer.text);
    texts.push(...rowTexts(answer.text));
    const reached = new URL(answer.json.links.next, provider.simulator.url).searchParams.get('since');
    if (reached === answer.json.nextId) return texts;
    next = answer.json.links.next;
  }
  return assert.fail('The stream does not come to its end.');
}

const startOf = async (provider: ProviderClient, path = '/reference-data/v1/instruments?limit=1') =>
  (await provider.get(path)).json.links.events as string;

test('every event can be polled once and in the order of the ledger', async (t) => {
  const provider = await startProvider(t, { filteredShare: 0.3 });
  const start = await startOf(provider);
  provider.simulator.change(300);
  const ledger = [...provider.simulator.ledger.events()];
  const returned = ledger.filter(({ hidden }) => !hidden).map(({ text }) => text);
  assert.deepEqual(await pollAll(provider, `${start}&maxEvents=7`), returned);
  assert.ok(ledger.length > returned.length, 'Some log positions are hidden.');
});

test('the offset advances while `events` is empty, because all events were filtered out', async (t) => {
  const provider = await startProvider(t);
  const start = await startOf(provider);
  const { offset } = provider.simulator.publish({ kind: 'hidden' });
  const { json } = await provider.get(start);
  assert.deepEqual(json.events, []);
  assert.equal(json.nextId, offset);
  assert.equal(json.links.next, `${EVENTS}?since=${offset}&maxEvents=500`);
});

test('next is lower than nextId if a response is full, or if the scan has a limit', async (t) => {
  const full = await startProvider(t);
  const start = await startOf(full);
  const offsets = [1, 2, 3].map(() => full.simulator.publish({ kind: 'datachange' }).offset);
  const { json } = await full.get(`${start}&maxEvents=2`);
  assert.equal(json.events.length, 2);
  assert.ok(json.links.next.includes(`since=${offsets[1]}&`));
  assert.equal(json.nextId, offsets[2]);

  const limited = await startProvider(t, { eventScanLimit: 3 });
  const first = await startOf(limited);
  for (let count = 0; count < 5; count++) limited.simulator.publish({ kind: 'hidden' });
  limited.simulator.publish({ kind: 'datachange' });
  assert.deepEqual((await limited.get(first)).json.events, []);
  assert.equal((await pollAll(limited, first)).length, 1);
});

const expiries = [
  ['empty', 200],
  ['emptyNewest', 200],
  ['oldest', 200],
  [400, 400],
  [404, 404],
  [410, 410],
] as const;
for (const [expiredSince, status] of expiries) {
  test(`an expired offset gets ${expiredSince}, while the newest offset gets 200`, async (t) => {
    const clock = createStandingClock(Date.UTC(2026, 0, 5));
    const provider = await startProvider(t, { clock, expiredSince, auth: false });
    const start = await startOf(provider);
    provider.simulator.publish({ kind: 'datachange' });
    clock.advance(7 * DAY_MS);
    assert.equal((await provider.get(start)).json.events.length, 1, 'Seven days are retained.');
    clock.advance(1);
    const newest = provider.simulator.publish({ kind: 'datachange' }).offset;
    const answer = await provider.get(start);
    assert.equal(answer.status, status);
    if (expiredSince === 'oldest') assert.deepEqual([answer.json.events.length, answer.json.nextId], [1, newest]);
    if (expiredSince === 'empty' || expiredSince === 'emptyNewest') {
      const since = new URL(start, provider.simulator.url).searchParams.get('since');
      assert.deepEqual(answer.json.events, []);
      assert.ok(answer.json.links.next.includes(`since=${since}&`));
      assert.equal(answer.json.nextId, expiredSince === 'empty' ? since : newest);
    }
    const fresh = await provider.get(await startOf(provider));
    assert.deepEqual([fresh.status, fresh.json.nextId], [200, newest]);
  });
}

test('events are visible only after the event log has caught up', async (t) => {
  const clock = createStandingClock(Date.UTC(2026, 0, 5));
  const provider = await startProvider(t, { clock, eventLagMs: 2_000 });
  const start = await startOf(provider);
  const { offset } = provider.simulator.publish({ kind: 'datachange' });
  const early = await provider.get(start);
  assert.deepEqual([early.json.events.length, early.json.nextId === offset], [0, false]);
  clock.advance(2_000);
  assert.equal((await provider.get(start)).json.events.length, 1);
});
