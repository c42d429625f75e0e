import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { createAuthorization } from '../../src/provider/http/authorization.ts';
import type { HttpClient } from '../../src/provider/http/client.ts';
import { systemClock } from '../../src/support/clock.ts';
import { clientFor, freeTurns, json, keepingLog, never, page, serve, text } from '../unit/provider/http/loopback.ts';

const REDIRECTS = [300, 301, 302, 303, 304, 305, 307, 308];

/** A server where nothing may arrive. */
async function elsewhere(t: TestContext): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = [];
  const { url } = await serve(t, (request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(200, json).end('{}');
  });
  return { url, requests };
}

const bearer = { headers: async () => ({ authorization: 'Bearer canary' }), renew: async () => null };

test('no redirect is followed, whatever its code and wherever it points', async (t) => {
  const evil = await elsewhere(t);
  let location = '';
  let status = 0;
  const requests: string[] = [];
  const { url } = await serve(t, (request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(status, { location, ...json }).end('{}');
  });
  const client = clientFor(t, url, { authorization: bearer });
  const evilHost = new URL(evil.url).host;
  const hostile = [`${evil.url}/x?token=canary`, `//${evilHost}/x`, `http://user@${evilHost}`];
  for (status of REDIRECTS) {
    for (location of [...hostile, '/v1/other', '', 'http://']) {
      const error = await client.get(page, text, never).catch((caught) => caught);
      assert.equal(error.code, 'PROVIDER_REDIRECT');
      assert.doesNotMatch(error.message, /canary/);
    }
    await assert.rejects(client.post({ ...page, body: '{}' }, text, never), { code: 'PROVIDER_REDIRECT' });
  }
  assert.deepEqual(evil.requests, []);
  assert.ok(requests.every((target) => target === '/v1/instruments?limit=1000'));
});

test('no path or query that a caller passes leads to another origin', async (t) => {
  const evil = await elsewhere(t);
  const hosts: (string | undefined)[] = [];
  const { url } = await serve(t, (request, response) => {
    hosts.push(request.headers.host);
    response.writeHead(200, json).end('{}');
  });
  const client = clientFor(t, url, { authorization: bearer });
  const evilHost = new URL(evil.url).host;
  const slashes = [
    `//${evilHost}/x`,
    `\\\\${evilHost}\\x`,
    `/\\${evilHost}/x`,
    `/\t/${evilHost}/x`,
    `/..//${evilHost}/x`,
  ];
  const logins = [`@${evilHost}/x`, `/@${evilHost}`, `/x@${evilHost}/x`, `:80@${evilHost}`, `.${evilHost}/`];
  const others = [`${evil.url}/x`, `/x HTTP/1.1\r\nhost: ${evilHost}\r\n\r\n`];
  for (const path of [...slashes, ...logins, ...others]) {
    const query = [[`\r\nhost: ${evilHost}`, `//${evilHost}/#`]] as const;
    await client
      .get({ path, query }, text, never)
      .catch((error) => assert.equal(error.code, 'PROTOCOL_VIOLATION', path));
    await client.get({ path: '/v1', query }, text, never);
  }
  assert.deepEqual(evil.requests, []);
  assert.ok(hosts.every((host) => host === new URL(url).host));
});

test('the secret goes to the token endpoint alone and the token to the provider alone, also when both fail', async (t) => {
  const atIdp: string[] = [];
  const atProvider: string[] = [];
  const log = keepingLog();
  let mode = 0;
  const idp = await serve(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    atIdp.push(`${JSON.stringify(request.headers)} ${body}`);
    const token = JSON.stringify({ access_token: `canary-token-${atIdp.length}`, token_type: 'bearer' });
    if (mode % 3 === 1) response.writeHead(500, json).end(`{"detail":"canary-secret"}`);
    else if (mode % 3 === 2)
      response.writeHead(400, json).end('{"error":"canary-secret","error_description":"canary-secret"}');
    else response.writeHead(200, json).end(token);
  });
  const provider = await serve(t, (request, response) => {
    atProvider.push(JSON.stringify(request.headers));
    const echo = request.headers.authorization ?? '';
    const status = [200, 401, 403, 500, 302, 400][mode % 6] ?? 200;
    response
      .writeHead(status, { ...json, location: `https://x/${echo}` })
      .end(JSON.stringify({ title: echo, detail: echo }));
  });
  const secret = async () => 'canary-secret';
  const settings = { type: 'oauth2', tokenUrl: `${idp.url}/t`, clientId: 'client', clientSecret: secret } as const;
  const errors: string[] = [];
  for (mode = 0; mode < 18; mode++) {
    const network = { name: 'marketData', allowHttp: false, timeoutMs: 1_000, turns: freeTurns() };
    const authorization = createAuthorization(settings, { ...network, clock: systemClock, random: Math.random, log });
    const client: HttpClient = clientFor(t, provider.url, { authorization, log });
    for (let n = 0; n < 2; n++) {
      await client.get(page, text, never).catch((error) => errors.push(inspect(error, { depth: 10 })));
    }
  }
  assert.ok(errors.length > 10 && log.lines.length > 10, 'the faults did happen');
  assert.ok(atProvider.length > 0 && atProvider.every((seen) => !seen.includes('canary-secret')));
  assert.ok(atProvider.some((seen) => seen.includes('canary-token')));
  assert.ok(atIdp.length > 0 && atIdp.every((seen) => !seen.includes('canary-token')));
  for (const line of [...errors, ...log.lines]) assert.doesNotMatch(line, /canary/);
});
