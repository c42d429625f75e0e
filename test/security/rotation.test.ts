import assert from 'node:assert/strict';
import { rename, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { loadSettings } from '../../src/config/load.ts';
import { createProviderHttp } from '../../src/run/provider-client.ts';
import { createSubjects } from '../../src/run/registry-client.ts';
import { systemClock } from '../../src/support/clock.ts';
import { portOf } from '../support/network/loopback-port.ts';
import { temporaryFolder } from '../support/runner/temporary-folder.ts';
import { json, keepingLog, never, page, serve, text } from '../unit/provider/http/loopback.ts';
import { type Certificates, makeCertificates } from './certificates.ts';

const ROTATIONS = 6;
const ROTATE_EVERY = 50;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A secret in a folder as Kubernetes mounts it: the file is a link, and a rotation swaps what it leads to. */
async function mountedSecret(t: TestContext, first: string) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'secret');
  let version = 0;
  const rotate = async (value: string) => {
    version += 1;
    const target = join(folder, `version-${version}`);
    await writeFile(target, `${value}\n`);
    await symlink(target, `${file}.new`);
    await rename(`${file}.new`, file);
  };
  await rotate(first);
  return { file, rotate };
}

async function clientOf(t: TestContext, url: string, auth: string) {
  const loaded = await loadSettings({
    text: `
referenceData: { url: "${url}", requestsPerSecond: 10000, auth: ${auth} }
kafka: { brokers: 127.0.0.1:9092 }
schemaRegistry: { url: http://127.0.0.1:8081 }`,
    env: {},
  });
  const deps = { clock: systemClock, random: Math.random, log: silent };
  const client = await createProviderHttp('referenceData', loaded.referenceData, deps);
  t.after(() => client.close());
  return client;
}

/** Reads pages in four loops while the secret is rotated again and again; any that fails, fails the test. */
async function readWhileRotating(client: Awaited<ReturnType<typeof clientOf>>, rotate: (n: number) => Promise<void>) {
  let pages = 0;
  let rotateAt = ROTATE_EVERY;
  const rotations: Promise<void>[] = [];
  const load = async () => {
    while (rotations.length < ROTATIONS || pages < rotateAt) {
      assert.equal(await client.get(page, text, never), '{}');
      pages += 1;
      if (pages < rotateAt || rotations.length === ROTATIONS) continue;
      // One rotation after the other, while the loops go on; the file system may take its time for each.
      rotateAt = Number.POSITIVE_INFINITY;
      const rotated = rotate(rotations.length + 1).finally(() => {
        rotateAt = pages + ROTATE_EVERY;
      });
      rotations.push(rotated);
    }
  };
  await Promise.all([load(), load(), load(), load()]);
  await Promise.all(rotations);
}

test('a client secret that is rotated in its file under load fails no page and needs no restart', async (t) => {
  const { file, rotate } = await mountedSecret(t, 'secret-0');
  // Of a rotation, both sides of it are good while it is under way, and then only the newer.
  let valid = ['secret-0'];
  let tokens = ['token-0'];
  const used = new Set<string>();
  const idp = await serve(t, (request, response) => {
    const [, encoded = ''] = atob((request.headers.authorization ?? '').replace('Basic ', '')).split(':');
    const given = decodeURIComponent(encoded);
    used.add(given);
    const isGood = valid.includes(given);
    const body = isGood ? { access_token: tokens[0], token_type: 'bearer' } : { error: 'invalid_client' };
    response.writeHead(isGood ? 200 : 401, json).end(JSON.stringify(body));
  });
  const provider = await serve(t, (request, response) => {
    const isGood = tokens.some((token) => request.headers.authorization === `Bearer ${token}`);
    response.writeHead(isGood ? 200 : 401, json).end('{}');
  });
  const auth = `{ type: oauth2, tokenUrl: "${idp.url}/token", clientId: me, clientSecretFile: "${file}" }`;
  await readWhileRotating(await clientOf(t, provider.url, auth), async (n) => {
    valid = [`secret-${n}`, ...valid];
    await rotate(`secret-${n}`);
    tokens = [`token-${n}`, ...tokens].slice(0, 2);
    valid = valid.slice(0, 1);
  });
  assert.ok(used.size >= 3, `${[...used]}`);
});

test('a client secret that is rotated while a request with the old one is on its way fails nothing', async (t) => {
  const { file, rotate } = await mountedSecret(t, 'old');
  const idp = await serve(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const isOld = !`${request.headers.authorization} ${body}`.includes(btoa('me:new'));
    if (isOld) await rotate('new');
    const answer = isOld ? { error: 'invalid_client' } : { access_token: 'token', token_type: 'bearer' };
    response.writeHead(isOld ? 401 : 200, json).end(JSON.stringify(answer));
  });
  const provider = await serve(t, (_, response) => response.writeHead(200, json).end('{}'));
  const auth = `{ type: oauth2, tokenUrl: "${idp.url}/token", clientId: me, clientSecretFile: "${file}" }`;
  const client = await clientOf(t, provider.url, auth);
  assert.equal(await client.get(page, text, never), '{}');
});

test('a token and a header that others renew in a file under load fail no page', async (t) => {
  for (const [auth, header] of [
    ['type: bearer, tokenFile', (value: string) => ['authorization', `Bearer ${value}`]],
    ['type: apiKey, header: x-api-key, valueFile', (value: string) => ['x-api-key', value]],
    ['type: basic, user: me, passwordFile', (value: string) => ['authorization', `Basic ${btoa(`me:${value}`)}`]],
  ] as const) {
    const { file, rotate } = await mountedSecret(t, 'value-0');
    // As above: of a rotation that is under way, both sides are good.
    let valid = ['value-0'];
    const provider = await serve(t, (request, response) => {
      const isGood = valid.map(header).some(([name = '', wanted]) => request.headers[name] === wanted);
      response.writeHead(isGood ? 200 : 401, json).end('{}');
    });
    await readWhileRotating(await clientOf(t, provider.url, `{ ${auth}: "${file}" }`), async (n) => {
      valid = [`value-${n}`, ...valid];
      await rotate(`value-${n}`);
      valid = valid.slice(0, 1);
    });
  }
});

/** A server that wants a client's certificate, and that can change its own and the authority that it trusts. */
async function serverOf(t: TestContext, { ca, good }: Certificates) {
  const clients: string[] = [];
  const server = createServer({ ...good, ca, requestCert: true, rejectUnauthorized: true }, (request, response) => {
    clients.push((request.socket as TLSSocket).getPeerCertificate().fingerprint256);
    response.writeHead(200, json).end('{}');
  });
  return {
    clients,
    url: `https://localhost:${await portOf(t, server)}`,
    /** From now on, and for new connections alone. */
    become(next: Certificates) {
      server.setSecureContext({ ...next.good, ca: next.ca });
    },
    endConnections: () => server.closeAllConnections(),
  };
}

async function filesOf(t: TestContext, first: Certificates) {
  const folder = temporaryFolder(t);
  const write = (name: 'ca' | 'cert' | 'key', content: string) => writeFile(join(folder, name), content);
  const writeAll = async ({ ca, client }: Certificates) => {
    await write('ca', ca);
    await write('cert', client.cert);
    await write('key', client.key);
  };
  await writeAll(first);
  const settings = ['ca', 'cert', 'key'].map((name) => `${name}: "${join(folder, name)}"`).join(', ');
  return { settings, write, writeAll };
}

/** The system's clock, of which seconds can be left out. */
function leapingClock() {
  let leaptMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + leaptMs };
  return {
    clock,
    leap() {
      leaptMs += 2_000;
    },
  };
}

test('certificates of the provider that are replaced in their files are used for new connections, without a restart', async (t) => {
  const [old, next] = [makeCertificates(), makeCertificates()];
  const server = await serverOf(t, old);
  const files = await filesOf(t, old);
  const { clock, leap } = leapingClock();
  const { referenceData } = await loadSettings({
    text: `
referenceData: { url: "${server.url}", auth: { type: none }, requestsPerSecond: 1000, ${files.settings} }
kafka: { brokers: 127.0.0.1:9092 }
schemaRegistry: { url: http://127.0.0.1:8081 }`,
    env: {},
  });
  const { warn, lines } = keepingLog();
  const log = { warn, debug() {}, info() {}, error() {} };
  const client = await createProviderHttp('referenceData', referenceData, { clock, random: Math.random, log });
  t.after(() => client.close());
  const ask = async () => {
    leap();
    server.endConnections();
    return client.get(page, text, never);
  };
  assert.equal(await ask(), '{}');

  // In the middle of a rotation: one file is not whole, one is gone from its pair.
  for (const [name, content] of [
    ['ca', 'not PEM, and not for a message'],
    ['cert', next.client.cert],
    ['key', ''],
  ] as const) {
    await files.writeAll(old);
    await ask();
    await files.write(name, content);
    lines.length = 0;
    assert.equal(await ask(), '{}', name);
    assert.equal(await ask(), '{}', name);
    assert.equal(lines.length, 1, `one warning for ${name}: ${lines}`);
    assert.match(lines[0] ?? '', /cannot be used; the last good files are kept .*referenceData/);
    assert.doesNotMatch(lines[0] ?? '', /not for a message|BEGIN/);
  }
  const [before] = new Set(server.clients);
  assert.equal(new Set(server.clients).size, 1);

  await files.writeAll(next);
  server.become(next);
  assert.equal(await ask(), '{}');
  assert.notEqual(server.clients.at(-1), before);
});

test('certificates of the registry that are replaced in their files are used for new connections', async (t) => {
  const [old, next] = [makeCertificates(), makeCertificates()];
  const server = await serverOf(t, old);
  const files = await filesOf(t, old);
  const { clock, leap } = leapingClock();
  const { schemaRegistry } = await loadSettings({
    text: `
referenceData: { url: https://provider.example, auth: { type: none } }
kafka: { brokers: 127.0.0.1:9092 }
schemaRegistry: { url: "${server.url}", ${files.settings} }`,
    env: {},
  });
  const subjects = await createSubjects(schemaRegistry, clock);
  const ask = () => subjects.versions('a-value', '"string"', never).catch((error) => error);
  // What this server says is no answer of a registry; that it says it is enough.
  await ask();
  assert.equal(server.clients.length, 1);
  await files.writeAll(next);
  server.become(next);
  server.endConnections();
  leap();
  await ask();
  assert.equal(new Set(server.clients).size, 2);
});
