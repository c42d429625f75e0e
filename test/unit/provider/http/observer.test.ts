import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createAuthorization } from '../../../../src/provider/http/authorization.ts';
import { createEndpointGates } from '../../../../src/provider/http/endpoint-gates.ts';
import { createRequestTurns } from '../../../../src/provider/http/request-turns.ts';
import { type Clock, systemClock } from '../../../../src/support/clock.ts';
import type { HttpObserver } from '../../../../src/support/http-observer.ts';
import { skippingClock } from '../../../support/runner/manual-clock.ts';
import { clientFor, json, never, page, serve, text } from './loopback.ts';
import { options } from './token-endpoint.ts';

/** An observer that remembers. */
function recording() {
  const requests: Parameters<HttpObserver['requested']>[0][] = [];
  const waits: Parameters<HttpObserver['heldBack']>[0][] = [];
  const tokens: string[] = [];
  const shares: Parameters<HttpObserver['limitShared']>[0][] = [];
  const clocks: Parameters<HttpObserver['clockSeen']>[0][] = [];
  const observer: HttpObserver = {
    requested: (request) => void requests.push(request),
    heldBack: (wait) => void waits.push(wait),
    limitShared: (share) => void shares.push(share),
    clockSeen: (seen) => void clocks.push(seen),
    tokenAsked: ({ client, failed }) => void tokens.push(`${client} ${failed ? 'failed' : 'renewed'}`),
  };
  return { observer, requests, waits, tokens, shares, clocks, codes: () => requests.map(({ code }) => code) };
}

test('a refused token is two requests; a stop is none', async (t) => {
  const { observer, codes } = recording();
  let refuse = true;
  const arrived = Promise.withResolvers<void>();
  const { url } = await serve(t, (request, response) => {
    if (request.url?.startsWith('/wait')) return arrived.resolve();
    response.writeHead(refuse ? 401 : 200, json).end('{}');
    refuse = false;
  });
  let token = 0;
  const headers = async () => ({ authorization: `Bearer ${token++}` });
  const client = clientFor(t, url, { observer, authorization: { headers, renew: headers } });
  await client.get(page, text, never);
  assert.deepEqual(codes(), ['401', '200']);
  const stop = new AbortController();
  const waiting = client.get({ ...page, path: '/wait' }, text, stop.signal);
  await arrived.promise;
  stop.abort(new Error('stopped'));
  await assert.rejects(waiting, /stopped/);
  assert.deepEqual(codes(), ['401', '200']);
});

test('tokens are reported, renewed or failed', async (t) => {
  const reported = recording();
  const status = { now: 200 };
  const authorization = await oauth(t, status, reported.observer);
  await authorization.headers(never);
  assert.deepEqual(reported.tokens, ['marketData renewed']);
  status.now = 500;
  const failing = await oauth(t, status, reported.observer);
  await assert.rejects(failing.headers(never), { code: 'TOKEN_FAILED' });
  // Within its pause nothing is asked for, so nothing is reported.
  await assert.rejects(failing.headers(never), { code: 'TOKEN_FAILED' });
  assert.deepEqual(reported.tokens, ['marketData renewed', 'marketData failed']);
});

async function oauth(t: TestContext, status: { readonly now: number }, observer: HttpObserver) {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(status.now, json).end('{"access_token":"abc","token_type":"bearer","expires_in":60}');
  });
  return createAuthorization(
    { type: 'oauth2', tokenUrl: `${url}/t`, clientId: 'client', clientSecret: async () => 'secret' },
    // Its clock stands: a pause lasts until the test ends.
    { ...options(), observer },
  );
}

test('each response shows how far the clock of the provider is ahead of that of this machine, and one without a date shows nothing', async (t) => {
  const { observer, clocks } = recording();
  const ownMs = Date.parse('2026-03-01T10:00:00.400Z');
  const dates = ['Sun, 01 Mar 2026 10:01:40 GMT', 'Sun, 01 Mar 2026 09:59:00 GMT', null];
  let asked = 0;
  const { url } = await serve(t, (_request, response) => {
    response.sendDate = false;
    const date = dates[asked];
    asked += 1;
    response.writeHead(200, { ...json, ...(date && { date }) }).end('{"a":1}');
  });
  const client = clientFor(t, url, { observer, clock: { ...systemClock, wallMs: () => ownMs } });
  for (const _ of dates) await client.get(page, text, never);
  assert.deepEqual(clocks, [
    { clock: 'referenceData', aheadMs: 100_100 },
    { clock: 'referenceData', aheadMs: -59_900 },
  ]);
});

/** The turns of a client that reports to `observer` and may send 10 requests a second with all its replicas. */
function turnsOfTen(observer: HttpObserver, clock: Clock) {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const gates = createEndpointGates({ clock, random: () => 1 });
  return createRequestTurns({ name: 'marketData', requestsPerSecond: 10, gates, clock, log: quiet, observer });
}

test('of two replicas each sends half of the requests that the limit allows', async () => {
  const clock = skippingClock();
  const turns = turnsOfTen(recording().observer, clock);
  const prices = { key: 'prices', path: '/prices', from: 'POST /prices of marketData' };
  const secondsFor = async (requests: number) => {
    const beginMs = clock.monotonicMs();
    for (let n = 0; n < requests; n++) await turns.take(prices, never);
    return (clock.monotonicMs() - beginMs) / 1_000;
  };
  turns.share(2);
  assert.ok((await secondsFor(50)) >= 9);
  turns.share(1);
  assert.ok((await secondsFor(50)) <= 6);
});

test('how many share the limit is reported from the start on, and whenever it changes', () => {
  const { observer, shares } = recording();
  const turns = turnsOfTen(observer, systemClock);
  for (const processes of [2, 2, 4, 1]) turns.share(processes);
  const expected = [1, 2, 4, 1].map((processes) => ({ client: 'marketData', processes }));
  assert.deepEqual(shares, expected);
});
