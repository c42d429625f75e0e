import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthorization } from '../../../../src/provider/http/authorization.ts';
import { json, never, until } from './loopback.ts';
import { oauth2, options, token, tokenEndpoint, value } from './token-endpoint.ts';

test('a token is asked for with basic authentication, grant and scope, once for all callers', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [token('one')]);
  const authorization = createAuthorization(oauth2(url), options());
  const values = await Promise.all(Array.from({ length: 50 }, () => value(authorization)));
  assert.deepEqual(new Set(values), new Set(['Bearer one']));
  assert.equal(await value(authorization), 'Bearer one');
  assert.equal(requests.length, 1);
  const basic = Buffer.from(requests[0]?.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
  assert.equal(basic, 'client:canary%2Bsecret');
  assert.equal(requests[0]?.form.toString(), 'scope=openid&grant_type=client_credentials');
});

test('a token is renewed shortly before it expires by the monotonic clock, whatever the form of expires_in', async (t) => {
  for (const [expiresIn, renewedAtMs] of [
    [3_600, 3_570_000],
    ['600', 570_000],
    [100, 90_000],
    [1, 900],
    [0, 270_000],
    [-5, 270_000],
    [undefined, 270_000],
    [null, 270_000],
    ['never', 270_000],
    [1e12, 86_370_000],
  ] as const) {
    const { url } = await tokenEndpoint(t, [{ ...token('one'), expires_in: expiresIn }, token('two')]);
    const settings = options();
    const authorization = createAuthorization(oauth2(url), settings);
    assert.equal(await value(authorization), 'Bearer one');
    settings.nowMs = renewedAtMs - 1;
    assert.equal(await value(authorization), 'Bearer one', `expires_in ${expiresIn}`);
    settings.nowMs = renewedAtMs;
    assert.equal(await value(authorization), 'Bearer two', `expires_in ${expiresIn}`);
  }
});

test('a token that was refused is renewed once, however many callers had it refused', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [token('one'), token('two'), token('three')]);
  const authorization = createAuthorization(oauth2(url), options());
  const old = await authorization.headers(never);
  const renewed = await Promise.all(Array.from({ length: 10 }, () => authorization.renew(old, never)));
  assert.ok(renewed.every((one) => one?.authorization === 'Bearer two'));
  assert.equal((await authorization.renew(old, never))?.authorization, 'Bearer two');
  assert.equal(requests.length, 2);
});

test('a caller that aborts leaves the token to the others; when nobody is left, the request is cut', async (t) => {
  let cut = 0;
  const answering: (() => void)[] = [];
  const { url, requests } = await tokenEndpoint(t, [
    (request, response) => {
      request.socket.on('close', () => {
        if (!response.writableEnded) cut += 1;
      });
      answering.push(() => response.writeHead(200, json).end(JSON.stringify(token('one'))));
    },
  ]);
  const authorization = createAuthorization(oauth2(url), options());
  const first = new AbortController();
  const leaving = value(authorization, first.signal);
  const staying = value(authorization);
  await until(() => answering.length === 1);
  first.abort(new Error('left'));
  await assert.rejects(leaving, /left/);
  answering[0]?.();
  assert.equal(await staying, 'Bearer one');
  assert.deepEqual([requests.length, cut], [1, 0]);

  const second = new AbortController();
  const alone = createAuthorization(oauth2(url), options());
  const abandoned = value(alone, second.signal);
  await until(() => answering.length === 2);
  second.abort(new Error('left too'));
  await assert.rejects(abandoned, /left too/);
  await until(() => cut === 1);
  assert.equal(cut, 1);
  const next = value(alone);
  await until(() => answering.length === 3);
  answering[2]?.();
  assert.equal(await next, 'Bearer one', 'an abandoned request is no failure');
});

test('a token endpoint that fails is left alone for a while', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [
    { error: 'invalid_scope' },
    { error: 'invalid_scope' },
    token('one'),
  ]);
  const settings = options();
  const authorization = createAuthorization(oauth2(url), settings);
  for (const [nowMs, waitMs] of [
    [0, undefined],
    [400, 600],
    [999, 1],
    [1_000, undefined],
    [1_001, 1_999],
  ] as const) {
    settings.nowMs = nowMs;
    await assert.rejects(value(authorization), { code: 'TOKEN_FAILED', action: 'retry', retryAfterMs: waitMs });
  }
  assert.equal(requests.length, 2);
  settings.nowMs = 3_000;
  assert.equal(await value(authorization), 'Bearer one');
  assert.match(settings.log.lines.join(), /invalid_scope/);
});

test('a busy token endpoint is given the time that it asks for', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [
    (_, response) => void response.writeHead(503, { 'retry-after': '120' }).end(),
    token('one'),
  ]);
  const settings = options();
  const authorization = createAuthorization(oauth2(url), settings);
  await assert.rejects(value(authorization), { code: 'TOKEN_FAILED', retryAfterMs: 120_000 });
  settings.nowMs = 119_000;
  await assert.rejects(value(authorization), { code: 'TOKEN_FAILED', retryAfterMs: 1_000 });
  assert.equal(requests.length, 1);
  settings.nowMs = 120_000;
  assert.equal(await value(authorization), 'Bearer one');
});

test('while the token endpoint fails, a token that has not expired is used on', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [
    token('one', 300),
    (_, response) => void response.writeHead(500).end(),
  ]);
  const settings = options();
  const authorization = createAuthorization(oauth2(url), settings);
  await value(authorization);
  for (const nowMs of [270_000, 270_500, 299_999]) {
    settings.nowMs = nowMs;
    assert.equal(await value(authorization), 'Bearer one');
  }
  settings.nowMs = 300_000;
  await assert.rejects(value(authorization), { code: 'TOKEN_FAILED' });
  assert.ok(requests.length <= 4);
});
