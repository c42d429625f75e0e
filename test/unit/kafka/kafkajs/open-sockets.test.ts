import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { OpenSockets } from '../../../../src/kafka/kafkajs/open-clients.ts';
import { systemClock } from '../../../../src/support/clock.ts';

test('what is open ends with the client, and so does what is opened afterwards; each with an error for those who wait', async (t) => {
  const accepted: Socket[] = [];
  const server = createServer((socket) => void accepted.push(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  t.after(() => accepted.forEach((socket) => void socket.destroy()));
  const sockets = new OpenSockets(systemClock);
  const { port } = server.address() as AddressInfo;
  const opened = (onConnect: () => void) =>
    sockets.factory({ host: '127.0.0.1', port, ssl: undefined as never, onConnect });

  const connected = Promise.withResolvers<void>();
  const first = opened(connected.resolve);
  await connected.promise;
  assert.equal(first.destroyed, false);
  sockets.close();
  await assert.rejects(once(first, 'close'), /client of Kafka was closed/);

  const late = opened(() => {});
  await assert.rejects(once(late, 'close'), /client of Kafka was closed/);
  assert.equal(late.destroyed, true);
});
