import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { FaultRule } from '../../../src/dev/simulator/faults/fault.ts';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { providerScene } from './shell/terminal.ts';

interface Found {
  readonly what: string;
  readonly found: string;
  readonly state: string;
}

async function examined(t: TestContext, options: SimulatorOptions = {}, more: Record<string, string> = {}) {
  const { simulator, spconnect } = await providerScene(t, { instruments: 120, seed: 6, ...options }, more);
  const { code, stdout, stderr } = await spconnect('doctor', '--output', 'json');
  const findings = (stdout === '' ? [] : JSON.parse(stdout)) as Found[];
  const of = (what: string) => findings.find((one) => one.what === what) ?? assert.fail(`${what} was not examined`);
  return { simulator, spconnect, code, stdout, stderr, findings, of };
}

test('a provider as we assume it is found to be so, with few requests that change nothing', async (t) => {
  const { simulator, spconnect, code, findings, of } = await examined(t);
  const differing = findings.filter(({ state }) => state === 'differs');
  assert.deepEqual(differing, []);
  assert.equal(code, 0);
  assert.equal(of('minId').found, 'inclusive');
  assert.match(of('end of the list').found, /^0 rows, links\.next null$/);
  assert.match(of('largest limit').found, /^2000 is accepted; not accepted: 10000 \(status 400\)$/);
  assert.match(of('largest maxEvents').found, /^1000 is accepted; not accepted: 10000 \(status 400\)$/);
  assert.equal(of('a malformed offset gets').found, 'status 400');
  assert.equal(of('$type of an overview').found, 'ProductPriceOverviewResponse');
  assert.match(of('largest bulk request').found, /^1000 is accepted/);
  const asked = simulator.requests.last.length;
  assert.ok(asked < 30, `${asked} requests`);

  simulator.publish({ kind: 'datachange' });
  const text = await spconnect('doctor');
  assert.match(text.stdout, /^unknown +an expired offset gets +not known: the oldest events came; perhaps no offset/m);
  assert.match(text.stdout, /^ok +minId +inclusive +inclusive or exclusive: a row on two pages/m);
});

test('where nothing answers, nothing is said of the provider', async (t) => {
  const { code, stdout, stderr } = await examined(t, {}, { MARKET_DATA_URL: 'http://127.0.0.1:1' });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^PROVIDER_UNREACHABLE: .*127\.0\.0\.1:1/);
});

test('a failure that may pass shows nothing of the provider', async (t) => {
  const faults: FaultRule[] = (['bulk', 'events'] as const).map((match) => ({
    match,
    count: 0,
    fault: { kind: 'status', status: 503 },
  }));
  const { code, stderr, findings, of } = await examined(t, { faults });
  assert.deepEqual([code, stderr], [0, '']);
  const unknown = findings.filter(({ state }) => state === 'unknown').map(({ what }) => what);
  assert.deepEqual(unknown, [
    'largest maxEvents',
    'end of the stream',
    'an expired offset gets',
    'a malformed offset gets',
    'order of a bulk response',
    'largest bulk request',
  ]);
  assert.match(of('largest bulk request').found, /^not accepted: 1000 \(status 503\), 500 \(status 503\)$/);
});

test('a wrong address of market data is reported as such, not as a finding', async (t) => {
  const faults: FaultRule[] = (['overview', 'bulk'] as const).map((match) => ({
    match,
    count: 0,
    fault: { kind: 'status', status: 404 },
  }));
  const { code, stdout, stderr } = await examined(t, { faults });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^PROVIDER_REFUSED: .*404.*check marketData\.url/);
});

test('a response that is no JSON is a finding beside the others', async (t) => {
  const faults: FaultRule[] = [{ match: 'overview', count: 0, fault: { kind: 'body', body: 'no' } }];
  const { of } = await examined(t, { faults });
  const [type, order] = [of('$type of an overview'), of('order of a bulk response')];
  assert.deepEqual([type.found, type.state, order.state], ['BODY_MALFORMED', 'differs', 'ok']);
});

test('what a provider does otherwise is found', async (t) => {
  const { of, code, stderr } = await examined(t, {
    minIdMode: 'exclusive',
    maxLimit: 100,
    maxMaxEvents: 300,
    maxBulkItems: 50,
    expiredSince: 'oldest',
  });
  assert.equal(code, 1);
  assert.match(stderr, /differs from what the connector assumes/);
  assert.deepEqual([of('minId').found, of('minId').state], ['exclusive', 'ok']);
  const limit = [of('largest limit').found.slice(0, 16), of('largest limit').state];
  assert.deepEqual(limit, ['not accepted: 10', 'differs']);
  assert.equal(of('largest maxEvents').state, 'differs');
  assert.equal(of('largest bulk request').state, 'differs');
});

for (const [expiredSince, found, state] of [
  [404, 'status 404', 'ok'],
  ['empty', 'no events', 'ok'],
  // The source takes such a status for an outage, and repeats the request for ever.
  [403, 'status 403', 'differs'],
] as const) {
  test(`that an expired offset gets ${found} is found`, async (t) => {
    const retentionMs = 1;
    const { of } = await examined(t, { expiredSince, retentionMs, mutationsPerSecond: 200 });
    const expired = of('an expired offset gets');
    assert.deepEqual([expired.found, expired.state], [found, state]);
  });
}

test('an answer without a time, and one from a cache, are found', async (t) => {
  const strange = (headers: Record<string, string>): FaultRule[] => [
    { match: 'instruments', count: 0, fault: { kind: 'headers', headers } },
  ];
  const timeless = await examined(t, { faults: strange({ date: 'today' }) });
  assert.deepEqual([timeless.of('Date').state, timeless.of('clocks').state], ['differs', 'unknown']);
  const cached = await examined(t, { faults: strange({ age: '30' }) });
  assert.deepEqual([cached.findings, cached.code], [[], 1]);
  assert.match(cached.stderr, /^PROTOCOL_VIOLATION: .*from a cache/);
});

test('refused credentials are reported as what they are, and nothing of them', async (t) => {
  const { stderr, findings, code } = await examined(t, {}, { CLIENT_SECRET: 'canary-9' });
  assert.deepEqual([findings, code], [[], 1]);
  assert.match(
    stderr,
    /^TOKEN_FAILED: The token request of referenceData\.auth \(POST http:[^ ]+\) answered 401 .*; check tokenUrl, clientId, clientSecret \(or clientSecretFile\) and scope of referenceData\.auth\.\n$/,
  );
  assert.doesNotMatch(stderr, /differs|canary/);
});
