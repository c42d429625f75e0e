import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
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
import { json, keepingLog, never, page, text } from '../unit/provider/http/loopback.ts';
import { type Certificates, makeCertificates } from './certificates.ts';

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
    assert.match(lines[0] ?? '', /cannot be used; the last good ones are kept .*referenceData/);
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
