import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type ServerOptions } from 'node:https';
import { before, type TestContext, test } from 'node:test';
import { portOf } from '../support/network/loopback-port.ts';
import { clientFor, json, never, page, serve, text } from '../unit/provider/http/loopback.ts';
import { type Certificate, type Certificates, makeCertificates } from './certificates.ts';
import { connectProxy } from './connect-proxy.ts';

let certificates: Certificates;

before(() => {
  certificates = makeCertificates();
});

async function serveTls(t: TestContext, certificate: Certificate, options: ServerOptions = {}) {
  const requests: string[] = [];
  const server = createServer({ ...certificate, ...options }, (request, response) => {
    requests.push(request.headers.host ?? '');
    response.writeHead(200, json).end('{}');
  });
  return { port: await portOf(t, server), requests };
}

test('a certificate of our own authority is accepted when its file is set, and only then', async (t) => {
  const { port, requests } = await serveTls(t, certificates.good);
  const { ca } = certificates;
  for (const host of ['localhost', '127.0.0.1']) {
    assert.equal(await clientFor(t, `https://${host}:${port}`, { ca }).get(page, text, never), '{}');
  }
  requests.length = 0;
  await assert.rejects(clientFor(t, `https://localhost:${port}`).get(page, text, never), {
    code: 'PROVIDER_UNREACHABLE',
    message: /\(\w+\): the server's certificate is not accepted; set referenceData\.ca/,
  });
  assert.deepEqual(requests, []);
});

test('a certificate for another host, an expired one, and a self-signed one are refused before anything is sent', async (t) => {
  const { ca, otherHost, expired, selfSigned } = certificates;
  for (const [certificate, code] of [
    [otherHost, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [expired, 'CERT_HAS_EXPIRED'],
    [selfSigned, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ] as const) {
    const { port, requests } = await serveTls(t, certificate);
    await assert.rejects(clientFor(t, `https://localhost:${port}`, { ca }).get(page, text, never), {
      code: 'PROVIDER_UNREACHABLE',
      message: new RegExp(code),
    });
    assert.deepEqual(requests, []);
  }
});

test('a certificate of our own is shown to a server that asks for one', async (t) => {
  const { ca, good, client } = certificates;
  const { port } = await serveTls(t, good, { ca, requestCert: true, rejectUnauthorized: true });
  const url = `https://localhost:${port}`;
  assert.equal(await clientFor(t, url, { ca, ...client }).get(page, text, never), '{}');
  await assert.rejects(clientFor(t, url, { ca }).get(page, text, never), { code: 'PROVIDER_UNREACHABLE' });
});

test('files that are no PEM are refused at once, by the name of their setting', (t) => {
  const { ca, client, good } = certificates;
  const otherType = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  for (const [files, problem] of [
    [{ cert: 'canary' }, 'cert has no usable certificate in PEM format.'],
    [{ ...client, key: 'canary' }, 'key has no private key in PEM format, or needs a passphrase.'],
    [{ ca: 'canary', cert: 'canary' }, 'ca has no certificate in PEM format.'],
    [{ ca: ca.replace('MII', 'MIX') }, 'ca has a broken certificate, or another content than certificates.'],
    [{ ...client, key: good.key }, /^referenceData\.cert and key cannot be used together \(.*mismatch\)\.$/],
    [{ ...client, key: otherType }, /^referenceData\.cert and key cannot be used together \(.*mismatch\)\.$/],
  ] as const) {
    const message = typeof problem === 'string' ? `referenceData.${problem}` : problem;
    assert.throws(() => clientFor(t, 'https://localhost', files), { code: 'SETTINGS_INVALID', message });
  }
});

test('a proxy gets no more than the name of the host, and its answer cannot stand for the certificate', async (t) => {
  const { ca, good, otherHost } = certificates;
  const { connects, plain, leadTo, ...proxy } = await connectProxy(t);
  const address = `http://user:secret@${proxy.address}`;
  const authorization = { headers: async () => ({ authorization: 'Bearer canary' }), renew: async () => null };
  const through = { ca, proxy: address, authorization };

  const trusted = await serveTls(t, good);
  leadTo(trusted.port);
  assert.equal(await clientFor(t, 'https://provider.test', through).get(page, text, never), '{}');
  assert.deepEqual(connects, [`provider.test:443 Basic ${btoa('user:secret')} undefined`]);

  const untrusted = await serveTls(t, otherHost);
  leadTo(untrusted.port);
  await assert.rejects(clientFor(t, 'https://provider.test', through).get(page, text, never), {
    code: 'PROVIDER_UNREACHABLE',
    message: /ERR_TLS_CERT_ALTNAME_INVALID/,
  });
  assert.deepEqual(untrusted.requests, []);

  // This name is too long for anybody's: without the proxy it cannot be reached, and no name server is asked.
  const excepted = clientFor(t, `https://${'x'.repeat(64)}.test`, { ...through, noProxy: ['.test'] });
  await assert.rejects(excepted.get(page, text, never), { action: /retry|askForLess/ });
  assert.equal(connects.length, 2);

  // What never leaves the machine never goes through a proxy, so HTTPS_PROXY does not break a local start.
  const local = await serve(t, (_, response) => void response.writeHead(200, json).end('{}'));
  assert.equal(await clientFor(t, local.url, through).get(page, text, never), '{}');
  assert.equal(connects.length, 2);
  assert.deepEqual(plain, []);
});

test('a proxy address that cannot be used is refused without showing its password', (t) => {
  for (const [proxy, message] of [
    ['canary', 'referenceData.proxy is not an http or https address.'],
    ['socks5://user:canary@127.0.0.1:1', 'referenceData.proxy is not an http or https address.'],
    ['http://user:50%canary@127.0.0.1:1', 'referenceData.proxy has a login with a bare %; write it as %25.'],
  ] as const) {
    assert.throws(() => clientFor(t, 'https://provider.test', { proxy }), { code: 'SETTINGS_INVALID', message });
  }
});
