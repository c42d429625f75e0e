import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ADMIN_TOKEN, startAdminScene } from '../../support/connectors/admin-scene.ts';

const basic = (login: string) => `Basic ${Buffer.from(login).toString('base64')}`;

/** With headers that fetch would not send. */
async function ask(url: string, method: string, headers: Record<string, string>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request(url, { method, headers }, (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  });
  sent.on('error', reject).end();
  return promise;
}

const authorizations: readonly [authorization: string | null, status: number][] = [
  [`Bearer ${ADMIN_TOKEN}`, 202],
  [`bearer ${ADMIN_TOKEN}`, 202],
  [basic(`anybody:${ADMIN_TOKEN}`), 202],
  [basic(`:${ADMIN_TOKEN}`), 202],
  [null, 401],
  ['', 401],
  ['Bearer', 401],
  [`Bearer ${ADMIN_TOKEN}x`, 401],
  [`Bearer ${ADMIN_TOKEN.slice(1)}`, 401],
  [`Digest ${ADMIN_TOKEN}`, 401],
  [basic(ADMIN_TOKEN), 401],
  [basic(`${ADMIN_TOKEN}:`), 401],
  [basic('anybody:wrong'), 401],
  [`Basic ${ADMIN_TOKEN}`, 401],
];
for (const [authorization, status] of authorizations) {
  const shown = authorization === null ? 'no login' : JSON.stringify(authorization);
  test(`a change with ${shown} is answered with ${status}`, async (t) => {
    const { server, asked } = await startAdminScene(t);
    const headers = authorization === null ? {} : { authorization };
    assert.equal(await ask(`${server.url}/connectors/checks/pause`, 'PUT', headers), status);
    assert.equal(asked.length, status === 202 ? 1 : 0);
  });
}

test('a refusal says what to send; it comes before anything is reported of connectors', async (t) => {
  const scene = await startAdminScene(t);
  const answer = await scene.ask('/connectors/nobody/pause', { method: 'PUT' });
  assert.equal(answer.status, 401);
  assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic realm=/);
  assert.match(((await answer.json()) as { message: string }).message, /admin\.token/);
});

test('where no token is set nothing can be changed, and it is said why; reading goes on', async (t) => {
  const scene = await startAdminScene(t, { token: null });
  const answer = await scene.change('PUT', '/connectors/checks/pause');
  assert.equal(answer.status, 403);
  assert.match(((await answer.json()) as { message: string }).message, /ADMIN_TOKEN/);
  assert.deepEqual(scene.asked, []);
  assert.equal((await scene.ask('/connectors/checks')).status, 200);
});

const authorization = `Bearer ${ADMIN_TOKEN}`;
const origins: readonly [headers: Record<string, string>, status: number][] = [
  [{ origin: 'http://evil.example' }, 403],
  [{ origin: 'null' }, 403],
  [{ origin: 'http://127.0.0.1:1' }, 403],
  [{ 'sec-fetch-site': 'cross-site' }, 403],
  [{ 'sec-fetch-site': 'same-site' }, 403],
  [{ 'sec-fetch-site': 'same-origin' }, 202],
];
for (const [headers, status] of origins) {
  test(`a change sent by a browser with ${JSON.stringify(headers)} is answered with ${status}`, async (t) => {
    const { server } = await startAdminScene(t);
    assert.equal(await ask(`${server.url}/connectors/checks/pause`, 'PUT', { authorization, ...headers }), status);
  });
}

test('a page of this very server may change things', async (t) => {
  const { server } = await startAdminScene(t);
  assert.equal(await ask(`${server.url}/connectors/checks/pause`, 'PUT', { authorization, origin: server.url }), 202);
});

const allowedHosts = ['connector', '.svc.cluster.local', '*.example'];
for (const [host, status] of [
  ['localhost', 200],
  ['LOCALHOST:1', 200],
  ['127.0.0.1', 200],
  ['10.1.2.3:8083', 200],
  ['[::1]:8083', 200],
  ['[fd00::7]', 200],
  ['connector:8083', 200],
  ['Connector.', 200],
  ['spc.prod.svc.cluster.local:8083', 200],
  ['a.example', 200],
  ['example', 403],
  ['svc.cluster.local', 403],
  ['connector.evil.test', 403],
  ['evil.test', 403],
  ['127.0.0.1.evil.test', 403],
  ['localhost@evil.test', 403],
  ['evil.test/localhost', 403],
  ['not a name', 403],
] as const) {
  for (const bound of ['127.0.0.1', '0.0.0.0']) {
    test(`bound to ${bound}, a request for the host ${JSON.stringify(host)} is answered with ${status}`, async (t) => {
      const { server } = await startAdminScene(t, { host: bound, allowedHosts });
      for (const path of ['/status.json', '/livez']) {
        assert.equal(await ask(`${server.url}${path}`, 'GET', { host }), status);
      }
    });
  }
}

test('by itself, no name but localhost leads here, and a refusal names the setting', async (t) => {
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    const { server } = await startAdminScene(t, { host });
    assert.equal(await ask(`${server.url}/metrics`, 'GET', { host: 'connector:8083' }), 403);
    assert.equal(await ask(`${server.url}/metrics`, 'GET', { host: 'localhost:8083' }), 200);
    const rebound = { host: 'evil.test', origin: 'http://evil.test', authorization };
    assert.equal(await ask(`${server.url}/connectors/checks/pause`, 'PUT', rebound), 403);
  }
  const { server } = await startAdminScene(t);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request(`${server.url}/livez`, { headers: { host: 'evil.test' } }, (answer) => resolve(text(answer)));
  sent.on('error', reject).end();
  assert.match(await promise, /admin\.allowedHosts \(ADMIN_ALLOWED_HOSTS\)/);
});

test('with * every name leads here', async (t) => {
  const { server } = await startAdminScene(t, { host: '0.0.0.0', allowedHosts: ['*'] });
  const change = { host: 'connector:8083', authorization };
  assert.equal(await ask(`${server.url}/livez`, 'GET', { host: 'any.test' }), 200);
  assert.equal(await ask(`${server.url}/connectors/checks/pause`, 'PUT', change), 202);
});

test('what sends no Host is no browser, and is answered', async (t) => {
  const { server } = await startAdminScene(t);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.end('GET /livez HTTP/1.0\r\n\r\n');
  assert.match(await text(socket), /^HTTP\/1\.1 200 /);
});
