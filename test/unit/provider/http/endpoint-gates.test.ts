import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthorization } from '../../../../src/provider/http/authorization.ts';
import { createEndpointGates } from '../../../../src/provider/http/endpoint-gates.ts';
import { createMarketData } from '../../../../src/provider/market-data.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { clientFor, freeTurns, json, keepingLog, never, page, serve, text, until } from './loopback.ts';
import { oauth2, options, token, tokenEndpoint, value } from './token-endpoint.ts';

const HOUR_MS = 3_600_000;

const BEGAN_MS = Date.parse('2026-01-01T00:00:00Z');

/** Gates whose time is set by the test. */
function gatesAt() {
  const time = { nowMs: 0 };
  const clock = { ...systemClock, monotonicMs: () => time.nowMs, wallMs: () => BEGAN_MS + time.nowMs };
  return { time, clock, gates: createEndpointGates({ clock, random: () => 1 }) };
}

test('a refusal with Retry-After holds back its endpoint for every caller, and no other endpoint', async (t) => {
  const { time, clock, gates } = gatesAt();
  const asked: string[] = [];
  const { url } = await serve(t, (request, response) => {
    const path = request.url?.split('?')[0] ?? '';
    asked.push(path);
    if (path !== '/v1/instruments' || time.nowMs >= HOUR_MS) return response.writeHead(200, json).end('{}');
    return response.writeHead(429, { 'retry-after': '3600' }).end();
  });
  const log = keepingLog();
  const client = () => clientFor(t, url, { clock, turns: freeTurns({ clock, gates, log }) });
  const [one, other] = [client(), client()];
  const events = { path: '/v1/instruments/events', query: [] };
  await assert.rejects(one.get(page, text, never), { code: 'PROVIDER_BUSY', retryAfterMs: HOUR_MS });
  for (const nowMs of [0, 60_000, HOUR_MS - 1]) {
    time.nowMs = nowMs;
    for (const caller of [one, other]) {
      await assert.rejects(caller.get(page, text, never), {
        // The same end at each moment, because the status shows the message later too.
        message: /answered 429 and is not called before 2026-01-01T01:00:00\.000Z\.$/,
        code: 'PROVIDER_BUSY',
        action: 'retry',
        retryAfterMs: HOUR_MS - nowMs,
        fields: { endpoint: '/v1/instruments', heldBackBy: 429 },
      });
      assert.equal(await caller.get(events, text, never), '{}');
    }
  }
  assert.equal(asked.filter((path) => path === '/v1/instruments').length, 1);
  assert.equal(asked.filter((path) => path === '/v1/instruments/events').length, 6);
  assert.equal(log.lines.length, 1, 'said once, not at each call');
  time.nowMs = HOUR_MS;
  assert.equal(await other.get(page, text, never), '{}');
});

test('calls that waited for their turn when the endpoint was refused are not sent', async (t) => {
  let requests = 0;
  const { url } = await serve(t, (_, response) => {
    requests += 1;
    response.writeHead(429, { 'retry-after': '3600' }).end();
  });
  // The second turn comes when the test says so.
  const turn = Promise.withResolvers<void>();
  const clock = { ...systemClock, monotonicMs: () => 0, sleep: () => turn.promise };
  const client = clientFor(t, url, { clock, turns: freeTurns({ clock, requestsPerSecond: 4 }) });
  const asking = Array.from({ length: 5 }, () => client.get(page, text, never));
  const all = Promise.allSettled(asking);
  await assert.rejects(Promise.race(asking), { code: 'PROVIDER_BUSY' });
  turn.resolve();
  assert.deepEqual(new Set((await all).map(({ status }) => status)), new Set(['rejected']));
  assert.equal(requests, 1);
});

test('of many bulk calls that are refused at once none is repeated within the time asked for', async (t) => {
  const { time, clock, gates } = gatesAt();
  let bulk = 0;
  const arrived: (() => void)[] = [];
  const { url } = await serve(t, (request, response) => {
    request.resume();
    if (request.url?.endsWith('/bulk') !== true) return response.writeHead(200, json).end('{}');
    bulk += 1;
    arrived.push(() => response.writeHead(429, { 'retry-after': '3600' }).end());
    return undefined;
  });
  const http = clientFor(t, url, { clock, turns: freeTurns({ clock, gates }) });
  const prices = createMarketData({ http });
  const query = { kind: 'overview', fields: [] } as const;
  const ask = () => prices.bulk([{ isin: 'XX0000000000', query }], text, never);
  const first = Promise.allSettled(Array.from({ length: 24 }, ask));
  await until(() => arrived.length === 24);
  for (const answer of arrived) answer();
  assert.ok((await first).every(({ status }) => status === 'rejected'));
  for (const nowMs of [0, 60_000, HOUR_MS - 1]) {
    time.nowMs = nowMs;
    for (let n = 0; n < 20; n++) await assert.rejects(ask(), { retryAfterMs: HOUR_MS - nowMs });
    assert.equal(await prices.single({ isin: 'XX0000000000', query }, text, never), '{}');
  }
  assert.equal(bulk, 24);
});

test('a 429 that names no time is a growing back-off, and those in flight together are one failure', () => {
  const { time, gates } = gatesAt();
  const held = () => gates.heldBack('list')?.remainingMs ?? 0;
  for (const waitMs of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    for (let n = 0; n < 24; n++) gates.refused('list', { status: 429, retryAfterMs: undefined });
    assert.equal(held(), waitMs);
    // What was sent before the refusal opens nothing.
    gates.answered('list');
    assert.equal(held(), waitMs);
    time.nowMs += waitMs;
    assert.equal(held(), 0);
  }
  gates.answered('list');
  gates.refused('list', { status: 429, retryAfterMs: undefined });
  assert.equal(held(), 1_000);
});

test('a longer time replaces a shorter one and never the other way, and a failure without a time closes nothing', () => {
  const { gates } = gatesAt();
  assert.equal(gates.refused('bulk', { status: 503, retryAfterMs: undefined }), 0);
  assert.equal(gates.heldBack('bulk'), null);
  assert.equal(gates.refused('bulk', { status: 503, retryAfterMs: 5_000 }), 5_000);
  assert.equal(gates.refused('bulk', { status: 503, retryAfterMs: 60_000 }), 60_000);
  assert.equal(gates.refused('bulk', { status: 429, retryAfterMs: 1_000 }), 0);
  assert.equal(gates.heldBack('bulk')?.remainingMs, 60_000);
});

test('a token endpoint that both interfaces ask is held back for both', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [
    (_, response) => void response.writeHead(429, { 'retry-after': '3600' }).end(),
    token('one'),
  ]);
  const made = options();
  const gates = createEndpointGates({ clock: made.clock, random: () => 1 });
  const authorization = (name: string) =>
    createAuthorization(oauth2(url), { ...made, name, turns: freeTurns({ name, clock: made.clock, gates }) });
  const [reference, market] = [authorization('referenceData'), authorization('marketData')];
  await assert.rejects(value(reference), { code: 'TOKEN_FAILED', retryAfterMs: HOUR_MS });
  made.nowMs = 600_000;
  const { code, retryAfterMs, cause } = await value(market).catch((caught) => caught);
  assert.deepEqual([code, retryAfterMs, cause], ['TOKEN_FAILED', HOUR_MS - 600_000, undefined]);
  await assert.rejects(value(reference), { code: 'TOKEN_FAILED' });
  assert.equal(requests.length, 1);
  made.nowMs = HOUR_MS;
  assert.equal(await value(market), 'Bearer one');
});

test('requests for tokens take their turn like any other request of their interface', async (t) => {
  const { url } = await tokenEndpoint(t, [token('one'), token('two')]);
  const provider = await serve(t, (request, response) => {
    const isNew = request.headers.authorization === 'Bearer two';
    response.writeHead(isNew ? 200 : 401, json).end('{}');
  });
  let turns = 0;
  const counted = freeTurns();
  const counting: typeof counted = {
    ...counted,
    take(endpoint, signal) {
      turns += 1;
      return counted.take(endpoint, signal);
    },
  };
  const authorization = createAuthorization(oauth2(url), { ...options(), turns: counting });
  assert.equal(await clientFor(t, provider.url, { authorization, turns: counting }).get(page, text, never), '{}');
  assert.equal(turns, 4, 'token, request, token, request');
});
