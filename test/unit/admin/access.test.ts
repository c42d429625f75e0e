import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { MOST_CONNECTIONS, openAdminPort } from '../../../src/admin/admin-port.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { ADMIN_TOKEN, type AdminScene, makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';
import { eventually } from '../../support/runner/eventually.ts';

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
  assert.match(((await answer.json()) as { message: string }).message, /admin\.token is not set/);
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
  assert.match(await promise, /admin\.allowedHosts\./);
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

/** Answers all but `/slow`, which waits until it is let go. */
async function openPort(t: TestContext) {
  const slow = Promise.withResolvers<void>();
  const server = await openAdminPort({ host: '127.0.0.1', port: 0 }, async () => async (request, response) => {
    if (request.url === '/slow') await slow.promise;
    response.end('ok');
  });
  t.after(() => server.close());
  const port = Number(new URL(server.url).port);
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.resume();
    await once(socket, 'connect');
    return socket;
  };
  return { server, open, letGo: slow.resolve };
}

const probe = async (url: string) =>
  (await fetch(`${url}/livez`, { headers: { connection: 'close' }, signal: AbortSignal.timeout(5_000) })).text();

test('beside any number of idle connections probes are answered; the oldest idle one goes, and none with a request', async (t) => {
  const { server, open, letGo } = await openPort(t);
  const asking = await open();
  let answer = '';
  asking.on('data', (data) => {
    answer += data;
  });
  asking.write('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const idle: Socket[] = [];
  for (let n = 0; n < 2 * MOST_CONNECTIONS; n++) idle.push(await open());
  for (let n = 0; n < 3; n++) assert.equal(await probe(server.url), 'ok');
  const left = () => idle.filter(({ closed }) => !closed).length;
  await eventually('the oldest are gone', left, (count) => count < MOST_CONNECTIONS);
  assert.deepEqual([idle.at(0)?.closed, idle.at(-1)?.closed], [true, false]);
  letGo();
  const answerNow = () => answer;
  await eventually('the request is answered', answerNow, (text) => text.endsWith('ok'));
});

test('a port that is taken is one sentence with the code of the system', async (t) => {
  const { server } = await openPort(t);
  const port = Number(new URL(server.url).port);
  await assert.rejects(
    openAdminPort({ host: '127.0.0.1', port }, async () => () => {}),
    ({ code, message, cause }: ConnectorError) =>
      message === `The admin server cannot listen on 127.0.0.1:${port} (EADDRINUSE).` &&
      code === 'ADMIN_PORT_TAKEN' &&
      cause === undefined,
  );
});

test('a connection that has had its answer is idle again', async (t) => {
  const { server, open } = await openPort(t);
  const answered = await open();
  answered.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(answered, 'data');
  for (let n = 0; n < MOST_CONNECTIONS; n++) await open();
  assert.equal(await probe(server.url), 'ok');
  const gaveWay = () => answered.closed;
  await eventually('it gave way', gaveWay, Boolean);
});

const ready = async (scene: AdminScene) => {
  const answer = await scene.ask('/readyz?verbose');
  assert.equal((await scene.ask('/livez')).status, 200);
  assert.equal((await scene.ask('/health')).status, answer.status);
  return `${answer.status}\n${await answer.text()}`;
};

test('ready is who has proven topics, fence, offset and schemas, and joined; one line reports each', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  const source = 'instruments';
  assert.equal(
    await ready(scene),
    [
      '503',
      '[+] process: running',
      '[+] kafka: answers',
      '[-] topics: not verified yet',
      '[-] source instruments: its earlier writers are not fenced yet, and its offset is not read yet',
      '[-] source checks: its earlier writers are not fenced yet, and its offset is not read yet',
      '[-] prices: has not joined its group yet',
      'not ready\n',
    ].join('\n'),
  );
  const err = new ConnectorError('KAFKA_UNREACHABLE', 'No broker answers.');
  board.events.attemptFailed({ part: 'topics', failures: 1, waitMs: 1, err });
  assert.match(await ready(scene), /\[-\] topics: KAFKA_UNREACHABLE: No broker answers\./);
  board.topicsProven('id');
  board.events.sourceStarted({ source, since: null, secondsToRetentionCliff: null });
  assert.match(await ready(scene), /\[-\] source instruments: its schemas are not registered yet/);
  makeReady(scene);
  assert.match(await ready(scene), /^200\n[\s\S]*\[\+\] prices: has joined its group; .+\nready\n$/);
  assert.equal(await (await scene.ask('/readyz')).text(), 'ready\n');
  board.topicsMissing(['p.states', 'p.offsets']);
  const deleted = 'not found any more: p.states, p.offsets. If they were deleted: `spconnect topics create`.';
  assert.ok((await ready(scene)).includes(`\n[-] topics: ${deleted}\n`));
  board.topicsMissing([]);
  const refused = new ConnectorError('TOPIC_REFUSED', 'No topic (THE CAUSE).', { cause: new Error('THE CAUSE') });
  board.events.sourceFailed({ source, err: refused });
  const whole =
    /source instruments: failed: TOPIC_REFUSED: No topic \(THE CAUSE\)\. .* `spconnect restart instruments`\.$/m;
  assert.match(await ready(scene), whole);
  assert.doesNotMatch(await (await scene.ask('/status.json')).text(), /Caused by/);
});

const troubles: Record<string, (scene: AdminScene) => void> = {
  'a failed source': ({ board }) => board.events.sourceFailed({ source: 'checks', err: new Error('x') }),
  'a failed processor': ({ board }) => board.events.processorFailed({ err: new Error('x') }),
  'a stop': ({ stop }) => stop.abort(),
  'a lost writer': ({ board }) => {
    const { partition = 0 } = board.status().sources[1] ?? {};
    board.events.writerLost({ partition, err: new ConnectorError('TRANSACTION_FAILED', 'cut') });
  },
};
test('trouble ends readiness, and never liveness', async (t) => {
  for (const [what, happens] of Object.entries(troubles)) {
    const scene = await startAdminScene(t);
    makeReady(scene);
    assert.match(await ready(scene), /^200/);
    happens(scene);
    assert.match(await ready(scene), /^503/, what);
  }
});

test('what an operator has paused or stopped is as it should be', async (t) => {
  const scene = await startAdminScene(t);
  makeReady(scene);
  scene.operator.wants('instruments', { state: 'paused' });
  scene.board.events.sourcePaused({ source: 'instruments' });
  scene.operator.wants('checks', { state: 'stopped' });
  scene.board.events.sourceStopped({ source: 'checks' });
  scene.operator.wants('prices', { state: 'stopped' });
  const says = /^200[\s\S]*instruments: paused as requested[\s\S]*checks: stopped as requested[\s\S]*prices: stopped/;
  assert.match(await ready(scene), says);
});

test('metrics come as Prometheus asks for them, and nothing may be kept or guessed at', async (t) => {
  const scene = await startAdminScene(t);
  const answer = await scene.ask('/metrics');
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4');
  assert.equal(await answer.text(), 'a_metric 1\n');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
});

test('what is shown of prices is new in every answer, and whether the process lives is answered without it', async (t) => {
  const scene = await startAdminScene(t);
  let refreshed = 0;
  scene.board.events.processorStarted({
    groupId: 'g',
    topics: ['i'],
    kinds: ['overview'],
    freshness: () => assert.fail('only what shows prices asks for them'),
    async refreshed() {
      refreshed += 1;
    },
  });
  assert.equal((await scene.ask('/livez')).status, 200);
  assert.equal(refreshed, 0);
  const paths = ['/readyz', '/health', '/metrics', '/status.json', '/', '/connectors', '/connectors/prices/status'];
  for (const [index, path] of paths.entries()) {
    await scene.ask(path);
    assert.equal(refreshed, index + 1, path);
  }
});
