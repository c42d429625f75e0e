import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type ProviderClient, startProvider } from '../../../test/support/simulator-client.ts';
import { FAULT_KINDS } from './faults/fault.ts';
import { EVENT_KINDS } from './universe/changes.ts';

const LIST = '/reference-data/v1/instruments?limit=5';
const lines = (text: string) => text.split('\n').filter((line) => line !== '');

/** Calls the control paths over HTTP, without a token. */
function controlOf({ simulator }: ProviderClient) {
  return async (method: string, path: string, value?: unknown) => {
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const answer = await fetch(simulator.controlUrl + path, { method, ...body });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };
}

test('the ledger streams the universe, the events, the checks and the prices line by line', async (t) => {
  const provider = await startProvider(t);
  const control = controlOf(provider);
  provider.simulator.change(30);
  provider.simulator.triggerCheck('1000001');
  const { ledger } = provider.simulator;
  const universe = await control('GET', 'ledger/instruments');
  assert.equal(universe.type, 'application/x-ndjson');
  assert.deepEqual(
    lines(universe.text),
    [...ledger.instruments()].map(({ text }) => text),
  );
  const mine = await control('GET', 'ledger/instruments?scope=my&legalCountry=CH');
  assert.deepEqual(
    lines(mine.text),
    [...ledger.instruments({ mine: true, legalCountry: 'CH' })].map(({ text }) => text),
  );
  const events = lines((await control('GET', 'ledger/events')).text).map((line) => JSON.parse(line));
  assert.deepEqual(events, [...ledger.events()]);
  const checks = lines((await control('GET', 'ledger/checks')).text).map((line) => JSON.parse(line));
  assert.deepEqual(checks, [...ledger.checks()]);
  const isin = JSON.parse(lines(universe.text)[0] ?? '').identifiers[0].value;
  await provider.get(`/market-data/v1/products/${isin}/prices/overview`);
  const prices = lines((await control('GET', 'ledger/prices')).text).map((line) => JSON.parse(line));
  assert.deepEqual(
    prices.map((entry) => [entry.isin, entry.served]),
    [[isin, 1]],
  );
});

test('a refusal of the control path names the unknown word, and the README lists all known words', async (t) => {
  const control = controlOf(await startProvider(t));
  const refusals: readonly (readonly [path: string, body: object, error: RegExp])[] = [
    ['faults', { match: 'instruments', fault: { kind: 'nonsense' } }, /no fault nonsense; there are: status, delay/],
    ['faults', { match: 'instruments' }, /no fault undefined/],
    [
      'faults',
      { match: 'nonsense', fault: { kind: 'expireTokens' } },
      /no endpoint nonsense; match is one of: \*, token/,
    ],
    ['publish', [{ kind: 'newissue' }, { kind: 'nonsense' }], /kind of change nonsense\. Known kinds: newissue/],
    ['faults', { match: 'bulk', fault: { kind: 'bulk', how: 'swop' } }, /how: .* one of "swap"\|"drop"/],
    ['faults', { match: 'bulk', fault: { kind: 'compress', codings: ['zip'] } }, /codings: 0: .* one of "gzip"/],
    ['faults', { match: 'bulk', cout: 1, fault: { kind: 'delay' } }, /A rule has no member cout; there are: match/],
    ['faults', { match: 'bulk', fault: { kind: 'delay', sec: 1 } }, /The fault delay has no member sec; .*: kind, ms/],
    [
      'faults',
      { match: 'events', fault: { kind: 'poison', how: { x: 1 } } },
      /poison: how: .*"extraBytes":9.* is allowed/,
    ],
    [
      'faults',
      { match: 'bulk', fault: { kind: 'poison', rows: [0] } },
      /poison does not change bulk; use edit, or match: inst/,
    ],
    ['publish', [{ kind: 'newissue' }, { kind: 'datachange', ids: '1' }], /datachange has no member ids; .*: kind, id/],
    [
      'publish',
      [
        { kind: 'vanish', id: '1000001' },
        { kind: 'vanish', id: '1000001' },
      ],
      /no instrument 1000001/,
    ],
    ['publish', { kind: 'vanish' }, /vanish: id: .*received undefined/],
    ['publish', { kind: 'datachange', id: '77' }, /no instrument 77; GET ledger\/instruments lists them/],
    ['publish', { kind: 'vanish', id: 'x' }, /vanish: id: .*pattern/],
    ['publish', { kind: 'event', envelope: { foo: 1 } }, /envelope: .*expected string/],
    ['publish', { kind: 'replace', id: '1000001', instrument: {} }, /instrument: .*expected string/],
    ['checks', { id: '77' }, /no instrument 77/],
    ['checks', { id: '1000001', raw: {} }, /raw: .*expected string/],
    ['clock', { advanceMS: 1 }, /The body of POST clock has no member advanceMS; there are: advanceMs/],
    ['list', [], /is not an object/],
    ['faults', { match: 'bulk', bodyHas: 'x', fault: { kind: 'delay', ms: 1 } }, /A rule: bodyHas: .*expected array/],
    ['faults', { match: 'bulk', count: 'a', fault: { kind: 'delay', ms: 1 } }, /A rule: count: .*expected number/],
    ['faults', { match: 'bulk', nth: 0, fault: { kind: 'delay', ms: 1 } }, /A rule: nth: .*>=1/],
    ['faults', { match: 'bulk', rate: 'often', fault: { kind: 'delay', ms: 1 } }, /A rule: rate: .*expected number/],
    ['faults', { match: 'bulk', fault: { kind: 'delay', ms: '1s' } }, /The fault delay: ms: .*expected number/],
    ['faults', { match: 'events', fault: { kind: 'poison', rows: 0, how: { text: '' } } }, /poison: rows: .*array/],
    ['mutations', { perSecond: 'x' }, /perSecond: .*expected number/],
    ['stream/reset', { to: 5 }, /to: .*expected string/],
    ['failover', { lagMs: 1 }, /beyond: echo, newest, back or a status from 200 to 599 is allowed/],
    [
      'faults',
      { match: 'token', fault: { kind: 'edit', edits: [{ pointer: '/a', value: 'abc' }] } },
      /JSON text is exp/,
    ],
    ['faults', { match: 'token', fault: { kind: 'edit', edits: [{ pointer: 'a' }] } }, /a JSON pointer begins with/],
  ];
  for (const [path, error] of [
    ['requests?last=abc', /last: a whole number is expected/],
    ['requests?foo=1', /The query of GET requests has no member foo; there are: last/],
    ['ledger/instruments?scope=mine', /scope: .* one of "all"\|"my"/],
    ['ledger/instruments?country=CH', /no member country; there are: scope, legalCountry/],
  ] as const) {
    const refused = await control('GET', path);
    assert.equal(refused.status, 400);
    assert.match(JSON.parse(refused.text).error, error);
  }
  for (const [path, body, error] of refusals) {
    const refused = await control('POST', path, body);
    assert.equal(refused.status, 400);
    assert.match(JSON.parse(refused.text).error, error);
  }
  assert.deepEqual(JSON.parse((await control('GET', 'faults')).text), { rules: [], struck: {} });
  assert.equal((await control('GET', 'ledger/events')).text, '', 'a list that is refused in part changes nothing');
  const readme = readFileSync(new URL('./README.md', import.meta.url), 'utf8');
  for (const kind of [...FAULT_KINDS, ...EVENT_KINDS]) assert.match(readme, new RegExp(`\`${kind}\``), kind);
});

test('requests are counted and listed without any token or secret', async (t) => {
  const provider = await startProvider(t, { clientSecret: 'canary-secret' });
  const control = controlOf(provider);
  provider.simulator.injectFaults([{ match: 'instruments', fault: { kind: 'cutJson' } }]);
  await provider.get(LIST);
  await provider.get('/nothing/here');
  const { text } = await control('GET', 'requests');
  const { counts, last } = JSON.parse(text);
  assert.deepEqual(counts, { token: 1, instruments: 1, unknown: 1 });
  const { atMs, ...seen } = last[1];
  assert.ok(Math.abs(atMs - Date.now()) < 60_000);
  const path = '/reference-data/v1/instruments';
  assert.deepEqual(seen, {
    endpoint: 'instruments',
    method: 'GET',
    path,
    query: '?limit=5',
    faults: ['cutJson'],
    status: 200,
  });
  assert.ok(!/canary-secret|simulated-[0-9a-f]{8}|Bearer/.test(text));
  await control('DELETE', 'requests');
  assert.deepEqual(JSON.parse((await control('GET', 'requests')).text).counts, {});
});

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('closing ends open connections, slow answers and delays included', async (t) => {
  const provider = await startProvider(t, { auth: false });
  const before = timers();
  provider.simulator.injectFaults([
    { match: 'instruments', fault: { kind: 'delay', ms: 60_000 } },
    { match: 'instruments', nth: 2, fault: { kind: 'slow', part: 'body', bytesPerSecond: 20 } },
  ]);
  const ended = Promise.allSettled([provider.get(LIST), provider.get(LIST)]);
  while (provider.simulator.faultsStruck().slow === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  await provider.simulator.close();
  for (const { status } of await ended) assert.equal(status, 'rejected');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(timers(), before, 'No delay is left that would keep the process alive.');
});
