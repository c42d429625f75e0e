import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { request as forward } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import { join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { loadSettings } from '../../src/config/load.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import { createRegistry } from '../../src/run/registry-client.ts';
import { systemClock } from '../../src/support/clock.ts';
import { startFakeRegistry } from '../support/decoding/avro-registry.ts';
import { portOf } from '../support/network/loopback-port.ts';
import { temporaryFolder } from '../support/runner/temporary-folder.ts';
import { json, serve } from '../unit/provider/http/loopback.ts';
import { type Certificates, makeCertificates } from './certificates.ts';
import { connectProxy } from './connect-proxy.ts';

const SCHEMA = readSchemaText('Notification');
const NO_STOP = new AbortController().signal;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

let certificates: Certificates;
before(() => {
  certificates = makeCertificates();
});

/** A registry behind TLS, and the PEM files of its clients. */
async function scene(t: TestContext, options: ServerOptions) {
  const { url, calls } = await startFakeRegistry(t);
  const refused = new Set<string | undefined>();
  const server = createServer(options, (request, response) => {
    const { method, headers } = request;
    if (refused.has(headers.authorization)) return void response.writeHead(401, json).end('{}');
    const passed = forward(`${url}${request.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  });
  const port = await portOf(t, server);
  const folder = temporaryFolder(t);
  const write = async (name: string, content: string) => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const ca = await write('ca.pem', certificates.ca);
  return { calls, write, ca, refused, port, url: `https://localhost:${port}` };
}

async function registryWith(lines: string) {
  const text = `
referenceData: { url: https://provider.example, auth: { type: none } }
kafka: { brokers: 127.0.0.1:9092 }
schemaRegistry:
  ${lines}`;
  const settings = await loadSettings({ text, env: {} });
  return createRegistry(settings.schemaRegistry, { clock: systemClock, log: silent });
}

test('a registry with our own authority gets our certificate and our login with every request, rotated ones too', async (t) => {
  const { good, client } = certificates;
  const { calls, write, ca, url } = await scene(t, { ...good, ca: certificates.ca, requestCert: true });
  const files = `ca: ${ca}\n  cert: ${await write('c.pem', client.cert)}\n  key: ${await write('k.pem', client.key)}`;
  const asked = async (auth: string, subject: string) => {
    const registry = await registryWith(`url: ${url}\n  auth: ${auth}\n  ${files}`);
    assert.equal(await registry.schemaId(subject, SCHEMA, NO_STOP), 42);
    return registry;
  };
  const password = await write('password', 'first');
  const registry = await asked(`{ type: basic, user: me, passwordFile: ${password} }`, 'a-value');
  assert.ok(calls.length >= 3);
  assert.ok(calls.every(({ authorization }) => authorization === `Basic ${btoa('me:first')}`));

  await write('password', 'second');
  calls.length = 0;
  await registry.schemaId('b-value', SCHEMA, NO_STOP);
  assert.ok(calls.length >= 3 && calls.every(({ authorization }) => authorization === `Basic ${btoa('me:second')}`));

  calls.length = 0;
  await asked(`{ type: bearer, tokenFile: ${await write('token', 'abcdef')} }`, 'c-value');
  assert.ok(calls.length >= 3 && calls.every(({ authorization }) => authorization === 'Bearer abcdef'));
});

test('a registry whose certificate is not to be trusted gets no request', async (t) => {
  const { good, otherHost, expired, selfSigned } = certificates;
  for (const [name, server, isCaGiven] of [
    ['no authority named', good, false],
    ['other host', otherHost, true],
    ['expired', expired, true],
    ['self-signed', selfSigned, true],
    ['wants our certificate', { ...good, ca: certificates.ca, requestCert: true, rejectUnauthorized: true }, true],
  ] as const) {
    const { calls, ca, url } = await scene(t, server);
    const registry = await registryWith(`url: ${url}${isCaGiven ? `\n  ca: ${ca}` : ''}`);
    await assert.rejects(registry.schemaId('a-value', SCHEMA, NO_STOP), { code: 'REGISTRY_UNREACHABLE' }, name);
    assert.deepEqual(calls, [], name);
  }
});

test('a registry gets tokens of a token endpoint, another one when it refuses the first', async (t) => {
  const { calls, ca, url, refused } = await scene(t, certificates.good);
  const forms: URLSearchParams[] = [];
  const login = await serve(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    forms.push(new URLSearchParams(body));
    const answer = { access_token: `token-${forms.length}`, token_type: 'bearer', expires_in: 3_600 };
    response.writeHead(200, json).end(JSON.stringify(answer));
  });
  const client = `tokenUrl: "${login.url}/token", clientId: me, clientSecret: abcdef, scope: read, audience: registry`;
  const registry = await registryWith(`url: ${url}\n  auth: { type: oauth2, ${client} }\n  ca: ${ca}`);
  assert.equal(await registry.schemaId('a-value', SCHEMA, NO_STOP), 42);
  const isRegistered = calls.some(({ name }) => name.endsWith('/versions'));
  assert.ok(isRegistered, 'it was registered');
  assert.ok(calls.every(({ authorization }) => authorization === 'Bearer token-1'));
  const asked = forms.map((form) => [form.get('scope'), form.get('audience')]);
  assert.deepEqual(asked, [['read', 'registry']]);

  calls.length = 0;
  refused.add('Bearer token-1');
  assert.equal(await registry.schemaId('b-value', SCHEMA, NO_STOP), 42);
  assert.ok(calls.length >= 3 && calls.every(({ authorization }) => authorization === 'Bearer token-2'));

  // What is refused twice is an error of the login, which is not repeated.
  refused.add('Bearer token-2').add('Bearer token-3');
  await assert.rejects(registry.schemaId('c-value', SCHEMA, NO_STOP), { code: 'REGISTRY_REFUSED' });
  assert.equal(forms.length, 3);
});

test('a registry behind a proxy is reached through it alone, for its schemas too', async (t) => {
  const { calls, ca, port } = await scene(t, certificates.good);
  const { address, connects, plain, leadTo } = await connectProxy(t);
  leadTo(port);
  const registry = await registryWith(
    `url: https://provider.test\n  ca: ${ca}\n  proxy: http://user:secret@${address}\n  auth: { type: bearer, token: abcdef }`,
  );
  assert.equal(await registry.schemaId('a-value', SCHEMA, NO_STOP), 42);
  const isRegistered = calls.some(({ name }) => name.endsWith('/versions'));
  assert.ok(isRegistered, 'it was registered');
  assert.ok(connects.length >= 2);
  const tunnel = new RegExp(`^provider\\.test:443 Basic ${btoa('user:secret')} undefined$`);
  for (const connected of connects) assert.match(connected, tunnel);
  assert.deepEqual(plain, []);
});
