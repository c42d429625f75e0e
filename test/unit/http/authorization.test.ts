import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Authorization,
  type AuthorizationOptions,
  type AuthorizationSettings,
  createAuthorization,
} from '../../../src/http/authorization.ts';
import type { OAuth2Settings } from '../../../src/http/client-credentials.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { json, keepingLog, never, serve } from './loopback.ts';

interface TokenRequest {
  readonly authorization: string | undefined;
  readonly form: URLSearchParams;
}

type Answer = Readonly<Record<string, unknown>> | ((request: IncomingMessage, response: ServerResponse) => void);

/** A token endpoint that gives the next answer each time, and the last one for ever. */
async function tokenEndpoint(t: TestContext, answers: Answer[]): Promise<{ url: string; requests: TokenRequest[] }> {
  const requests: TokenRequest[] = [];
  const { url } = await serve(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    requests.push({ authorization: request.headers.authorization, form: new URLSearchParams(body) });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (typeof answer === 'function') return answer(request, response);
    response.writeHead(answer?.error === undefined ? 200 : 400, json).end(JSON.stringify(answer));
  });
  return { url: `${url}/token`, requests };
}

const token = (value: string, expires_in: unknown = 3_600) => ({
  access_token: value,
  token_type: 'Bearer',
  expires_in,
});

function options(): AuthorizationOptions & { nowMs: number; readonly log: ReturnType<typeof keepingLog> } {
  const made = {
    name: 'marketData',
    allowHttp: false,
    timeoutMs: 500,
    nowMs: 0,
    clock: { ...systemClock, monotonicMs: () => made.nowMs },
    random: () => 1,
    log: keepingLog(),
  };
  return made;
}

function oauth2(tokenUrl: string, more: Partial<OAuth2Settings> = {}): OAuth2Settings {
  return {
    type: 'oauth2',
    tokenUrl,
    clientId: 'client',
    clientSecret: async () => 'canary+secret',
    scope: 'openid',
    ...more,
  };
}

const value = async (authorization: Authorization, signal = never) =>
  (await authorization.headers(signal)).authorization;

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

test('where basic is refused, the secret goes into the form, and stays there', async (t) => {
  const noBasic = (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.authorization === undefined)
      response.writeHead(200, json).end(JSON.stringify(token('posted', 10)));
    else response.writeHead(401, { ...json, 'www-authenticate': 'Basic' }).end('{"error":"invalid_client"}');
  };
  const { url, requests } = await tokenEndpoint(t, [noBasic]);
  const settings = options();
  const authorization = createAuthorization(oauth2(url), settings);
  assert.equal(await value(authorization), 'Bearer posted');
  settings.nowMs = 20_000;
  assert.equal(await value(authorization), 'Bearer posted');
  assert.deepEqual(
    requests.map(({ form }) => form.get('client_secret')),
    [null, 'canary+secret', 'canary+secret'],
  );
});

test('an id_token that comes along with scope openid is ignored', async (t) => {
  const { url } = await tokenEndpoint(t, [{ ...token('one'), id_token: 'not.even.one', refresh_token: 7 }]);
  assert.equal(await value(createAuthorization(oauth2(url), options())), 'Bearer one');
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
  const { url, requests } = await tokenEndpoint(t, [
    (request, response) => {
      request.socket.on('close', () => {
        if (!response.writableEnded) cut += 1;
      });
      setTimeout(() => response.destroyed || response.writeHead(200, json).end(JSON.stringify(token('one'))), 100);
    },
  ]);
  const authorization = createAuthorization(oauth2(url), options());
  const first = new AbortController();
  const leaving = value(authorization, first.signal);
  const staying = value(authorization);
  setTimeout(() => first.abort(new Error('left')), 30);
  await assert.rejects(leaving, /left/);
  assert.equal(await staying, 'Bearer one');
  assert.deepEqual([requests.length, cut], [1, 0]);

  const second = new AbortController();
  const alone = createAuthorization(oauth2(url), options());
  setTimeout(() => second.abort(new Error('left too')), 30);
  await assert.rejects(value(alone, second.signal), /left too/);
  await delay(30);
  assert.equal(cut, 1);
  assert.equal(await value(alone), 'Bearer one', 'an abandoned request is no failure');
});

test('a token endpoint that fails is left alone for a while, and its OAuth error is told without the secret', async (t) => {
  const description = 'no canary+secret\n\u001b[2J for you';
  const { url, requests } = await tokenEndpoint(t, [
    { error: 'invalid_scope', error_description: description },
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

  const error = await value(
    createAuthorization(
      oauth2((await tokenEndpoint(t, [{ error: 'invalid_scope', error_description: description }])).url),
      options(),
    ),
  ).catch((caught) => caught);
  assert.match(error.message, /The token endpoint of marketData answered 400 \(invalid_scope: no \[secret\]\\u\{a\}/);
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

test('token answers that hang, never end, redirect, or are no token fail with TOKEN_FAILED', async (t) => {
  let elsewhere = 0;
  const other = await serve(t, (_, response) => {
    elsewhere += 1;
    response.writeHead(200, json).end(JSON.stringify(token('stolen')));
  });
  const answers: [string, Answer, RegExp][] = [
    ['hangs', () => {}, /took longer than 500 ms/],
    ['hangs in its body', (_, response) => void response.writeHead(200, json).write('{'), /took longer than 500 ms/],
    [
      'too large',
      (_, response) => void response.writeHead(200, json).end(`{"access_token":"${'x'.repeat(99_999)}"}`),
      /BODY_TOO_LARGE/,
    ],
    ['redirect', (_, response) => void response.writeHead(307, { location: `${other.url}/token` }).end(), /a redirect/],
    ['html', (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<canary>'), /no JSON/],
    ['no object', (_, response) => void response.writeHead(200, json).end('null'), /no object/],
    ['no token', { token_type: 'bearer', access_token: 7 }, /something other than a token/],
    ['other type', { token_type: 'mac', access_token: 'canary' }, /something other than a token/],
    ['dpop', { token_type: 'dpop', access_token: 'canary' }, /no bearer token/],
    ['header splitting', { token_type: 'bearer', access_token: 'canary\r\nx: y' }, /no header can carry/],
    ['html 404', (_, response) => void response.writeHead(404).end('<html>'), /404 .*no JSON/],
  ];
  await Promise.all(
    answers.map(async ([name, answer, message]) => {
      const { url } = await tokenEndpoint(t, [answer]);
      const error = await value(createAuthorization(oauth2(url), options())).catch((caught) => caught);
      assert.equal(error.code, 'TOKEN_FAILED', name);
      assert.match(error.message, message, name);
      assert.doesNotMatch(`${error.stack} ${error.cause}`, /canary/, name);
    }),
  );
  assert.equal(elsewhere, 0);
});

test('secrets are read anew for each use, so that a rotated one counts at once', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [token('one', 10)]);
  const settings = options();
  let secret = 'first';
  const rotating = createAuthorization(oauth2(url, { clientSecret: async () => secret }), settings);
  await value(rotating);
  secret = 'second';
  settings.nowMs = 10_000;
  await value(rotating);
  assert.notEqual(requests[0]?.authorization, requests[1]?.authorization);

  const read = async () => secret;
  for (const [kind, expected] of [
    [{ type: 'bearer', token: read }, { authorization: 'Bearer third' }],
    [{ type: 'basic', user: 'user', password: read }, { authorization: `Basic ${btoa('user:third')}` }],
    [{ type: 'apiKey', header: 'X-Api-Key', value: read }, { 'x-api-key': 'third' }],
  ] satisfies [AuthorizationSettings, object][]) {
    secret = 'second';
    const authorization = createAuthorization(kind, settings);
    const old = await authorization.headers(never);
    assert.equal(await authorization.renew(old, never), null, 'the same again would be refused again');
    secret = 'third';
    assert.deepEqual(await authorization.renew(old, never), expected);
    assert.deepEqual(await authorization.headers(never), expected);
  }
  assert.equal(await createAuthorization({ type: 'none' }, settings).renew({}, never), null);
});

test('a secret that cannot be read or sent fails so that it is tried again, and is not shown', async () => {
  for (const token of [
    () => Promise.reject(new Error('no such file')),
    async () => '',
    async () => 'canary\nx: y',
    async () => 'canary ',
    async () => 'canaryé',
  ]) {
    const error = await value(createAuthorization({ type: 'bearer', token }, options())).catch((caught) => caught);
    assert.equal(error.code, 'TOKEN_FAILED');
    assert.match(error.message, /marketData\.auth\.token/);
    assert.doesNotMatch(error.message, /canary/);
  }
});

test('settings that cannot work are refused at once, by name and without their values', () => {
  const secret = async () => 'x';
  for (const [settings, message] of [
    [oauth2('http://idp.example/token'), /marketData\.auth\.tokenUrl is plain http beyond loopback/],
    [oauth2('canary'), /marketData\.auth\.tokenUrl is no address/],
    [oauth2('https://user:canary@idp.example/'), /holds a user or a password/],
    [{ type: 'basic', user: 'a:canary', password: secret }, /marketData\.auth\.user holds a colon/],
    [{ type: 'apiKey', header: 'Host', value: secret }, /marketData\.auth\.header/],
    [{ type: 'apiKey', header: 'a b', value: secret }, /marketData\.auth\.header/],
  ] satisfies [AuthorizationSettings, RegExp][]) {
    assert.throws(
      () => createAuthorization(settings, options()),
      (error: Error & { code?: string }) =>
        error.code === 'SETTINGS_INVALID' && message.test(error.message) && !error.message.includes('canary'),
    );
  }
});
