import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, verify } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { type AuthorizationSettings, createAuthorization } from '../../../../src/provider/http/authorization.ts';
import { json, never, serve, until } from './loopback.ts';
import { type Answer, oauth2, options, token, tokenEndpoint, value } from './token-endpoint.ts';

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
    const error = await value(authorization).catch((caught) => caught);
    const { code, action, retryAfterMs, cause } = error;
    assert.deepEqual([code, action, retryAfterMs, cause], ['TOKEN_FAILED', 'retry', waitMs, undefined]);
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

test('the password of a basic login may have any characters, since it is encoded', async () => {
  const password = 'Zürich 2026 €';
  const authorization = createAuthorization({ type: 'basic', user: 'Zoë', password: async () => password }, options());
  const { authorization: sent = '' } = await authorization.headers(never);
  assert.equal(Buffer.from(sent.slice('Basic '.length), 'base64').toString('utf8'), `Zoë:${password}`);

  for (const login of ['marketData.auth', 'referenceData.auth']) {
    const settings = { type: 'basic', user: 'user', password: async () => '' } as const;
    const empty = createAuthorization(settings, { ...options(), login });
    await assert.rejects(empty.headers(never), { code: 'TOKEN_FAILED', message: `${login}.password is empty.` });
  }
});

test('settings that cannot work are refused at once, by name and without their values', () => {
  const secret = async () => 'x';
  for (const [settings, message] of [
    [oauth2('http://idp.example/token'), /marketData\.auth\.tokenUrl is plain http to another machine/],
    [oauth2('canary'), /marketData\.auth\.tokenUrl is not an address/],
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
  const secrets = requests.map(({ form }) => form.get('client_secret'));
  assert.deepEqual(secrets, [null, 'canary+secret', 'canary+secret']);
});

test('the OAuth error is reported without the secret that it echoes, and without control characters', async (t) => {
  const { url } = await tokenEndpoint(t, [
    { error: 'invalid_scope', error_description: 'no canary+secret\n\u001b[2J for you' },
  ]);
  const error = await value(createAuthorization(oauth2(url), options())).catch((caught) => caught);
  assert.match(
    error.message,
    /The token request of marketData\.auth \(POST http:[^ ]+\) answered 400 \(invalid_scope: no \[secret\]\\u\{a\}/,
  );
  assert.deepEqual(error.fields, { status: 400, oauthError: 'invalid_scope' });
});

test('the login of the client is not reported either, when the OAuth error echoes it', async (t) => {
  const echo: Answer = (request, response) => {
    const [, login = ''] = (request.headers.authorization ?? '').split(' ');
    response.writeHead(400, json).end(JSON.stringify({ error: 'invalid_request', error_description: `read ${login}` }));
  };
  const { url, requests } = await tokenEndpoint(t, [echo]);
  const error = await value(createAuthorization(oauth2(url), options())).catch((caught) => caught);
  assert.ok(requests[0]?.authorization);
  assert.match(error.message, /400 \(invalid_request: read \[secret\]\)/);
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
    ['no object', (_, response) => void response.writeHead(200, json).end('null'), /not an object/],
    ['no token', { token_type: 'bearer', access_token: 7 }, /something other than a token/],
    ['other type', { token_type: 'mac', access_token: 'canary' }, /something other than a token/],
    ['dpop', { token_type: 'dpop', access_token: 'canary' }, /not a bearer token/],
    ['header splitting', { token_type: 'bearer', access_token: 'canary\r\nx: y' }, /no header can carry/],
    ['busy', (_, response) => void response.writeHead(503).end(), /answered 503; the request is repeated\.$/],
    ['html 404', (_, response) => void response.writeHead(404).end('<html>'), /404 .*no JSON/],
  ];
  await Promise.all(
    answers.map(async ([name, answer, message]) => {
      const { url } = await tokenEndpoint(t, [answer]);
      const patience = name.startsWith('hangs') ? { timeoutMs: 500 } : {};
      const error = await value(createAuthorization(oauth2(url), { ...options(), ...patience })).catch(
        (caught) => caught,
      );
      assert.equal(error.code, 'TOKEN_FAILED', name);
      assert.match(error.message, message, name);
      assert.doesNotMatch(`${error.stack} ${error.cause}`, /canary/, name);
    }),
  );
  assert.equal(elsewhere, 0);
});

test('the client authenticates as the settings say, and asks for scope, audience and resource', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [token('one')]);
  const asked = { audience: 'https://api.example', resource: 'https://api.example/v1', scope: 'read' };
  const post = createAuthorization(oauth2(url, { clientAuthentication: 'client_secret_post', ...asked }), options());
  assert.equal(await value(post), 'Bearer one');
  const basic = createAuthorization(oauth2(url, { clientAuthentication: 'client_secret_basic' }), options());
  assert.equal(await value(basic), 'Bearer one');
  const [posted, sent] = requests;
  assert.equal(posted?.authorization, undefined);
  assert.deepEqual(Object.fromEntries(posted?.form ?? []), {
    grant_type: 'client_credentials',
    client_id: 'client',
    client_secret: 'canary+secret',
    ...asked,
  });
  assert.match(sent?.authorization ?? '', /^Basic /);
  assert.equal(sent?.form.get('client_secret'), null);
});

test('a secret that is too short to redact leaves the words of the token endpoint whole', async (t) => {
  const { url } = await tokenEndpoint(t, [{ error: 'invalid_client', error_description: 'The client is unknown.' }]);
  for (const [secret, says] of [
    ['nknow', /invalid_client: The client is unknown\./],
    ['unknown', /invalid_client: The client is \[secret\]\./],
  ] as const) {
    const authorization = createAuthorization(oauth2(url, { clientSecret: async () => secret }), options());
    await assert.rejects(value(authorization), says);
  }
});

test('a way of authentication that the settings name is the only one that is tried', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [{ error: 'invalid_client' }]);
  const only = createAuthorization(oauth2(url, { clientAuthentication: 'client_secret_basic' }), options());
  await assert.rejects(value(only), { code: 'TOKEN_FAILED' });
  assert.ok(requests.every(({ authorization }) => authorization !== undefined));
});

test('private_key_jwt sends a signed assertion for the token URL, with the key that is in the file now', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [token('one', 10)]);
  for (const [algorithm, type, details] of [
    ['RS256', 'rsa', { modulusLength: 2_048 }],
    ['PS256', 'rsa', { modulusLength: 2_048 }],
    ['ES256', 'ec', { namedCurve: 'P-256' }],
    ['EdDSA', 'ed25519', {}],
  ] as const) {
    const { privateKey, publicKey } = generateKeyPairSync(type as 'ec', details as { namedCurve: string });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const signing = { clientAuthentication: 'private_key_jwt', keyId: 'key-1', algorithm, clientSecret: null } as const;
    const settings = oauth2(url, { ...signing, privateKey: async () => pem });
    assert.equal(await value(createAuthorization(settings, options())), 'Bearer one');
    const { form, authorization } = requests.at(-1) ?? {};
    assert.deepEqual([authorization, form?.get('client_secret')], [undefined, null]);
    assert.equal(form?.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    const [header = '', payload = '', signature = ''] = form?.get('client_assertion')?.split('.') ?? [];
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    assert.deepEqual(read(header), { alg: algorithm, kid: 'key-1' });
    assert.deepEqual([read(payload).iss, read(payload).sub, read(payload).aud], ['client', 'client', url]);
    const key = {
      key: publicKey,
      dsaEncoding: 'ieee-p1363' as const,
      ...(algorithm === 'PS256' && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }),
    };
    const hash = algorithm === 'EdDSA' ? null : 'sha256';
    assert.ok(verify(hash, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')), algorithm);
  }
});

test('a private key that cannot be used is reported by its setting, and never quoted', async (t) => {
  const { url, requests } = await tokenEndpoint(t, [token('one')]);
  const signing = { clientAuthentication: 'private_key_jwt', privateKey: async () => 'canary-key' } as const;
  const error = await value(createAuthorization(oauth2(url, signing), options())).catch((caught) => caught);
  assert.equal(error.code, 'TOKEN_FAILED');
  const says = /^marketData\.auth\.privateKey is not the PEM text of a private key for RS256; check the file/;
  assert.match(error.message, says);
  assert.doesNotMatch(error.message, /canary/);
  assert.deepEqual(requests, []);
});

test('a refused client is told to check the login that it has', async (t) => {
  const { url } = await tokenEndpoint(t, [
    (_, response) => void response.writeHead(400).end('{"error":"invalid_client"}'),
  ]);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const signing = { clientAuthentication: 'private_key_jwt', privateKey: async () => pem } as const;
  for (const [settings, checks] of [
    [oauth2(url), /check tokenUrl, clientId, clientSecret \(or clientSecretFile\) and scope of marketData\.auth\.$/],
    [oauth2(url, signing), /check tokenUrl, clientId, privateKey, keyId, algorithm, assertionAudience and scope of /],
  ] as const) {
    const error = await value(createAuthorization(settings, options())).catch((caught) => caught);
    assert.match(error.message, checks);
  }
});
