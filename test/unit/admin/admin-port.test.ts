import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { MOST_CONNECTIONS, openAdminPort } from '../../../src/admin/admin-port.ts';
import type { ConnectorError } from '../../../src/errors.ts';
import { eventually } from '../../support/runner/eventually.ts';

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
  await eventually(
    'the request is answered',
    () => answer,
    (text) => text.endsWith('ok'),
  );
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
  await eventually(
    'it gave way',
    () => answered.closed,
    (isClosed) => isClosed,
  );
});
