import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, verify } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { createAuthorization } from '../../../../src/provider/http/authorization.ts';
import { json, serve } from './loopback.ts';
import { type Answer, oauth2, options, token, tokenEndpoint, value } from './token-endpoint.ts';

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
  assert.match(
    error.message,
    /^marketData\.auth\.privateKey is no PEM text of a private key for RS256; check the file/,
  );
  assert.doesNotMatch(error.message, /canary/);
  assert.deepEqual(requests, []);
});
