import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { connectKafka } from '../../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { systemClock } from '../../../../src/support/clock.ts';

test('a broker that never answers keeps no socket of a client that was closed', { timeout: 120_000 }, async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cluster = connectKafka({
    brokers: [`127.0.0.1:${port}`],
    clientId: 'test',
    tuning: { requestTimeoutMs: 3_600_000 },
    clock: systemClock,
    random: () => 0,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const connected = once(server, 'connection');
  const asked = cluster.clusterId().catch((error: unknown) => error);
  const [socket] = (await connected) as [Socket];
  socket.resume();
  const closed = once(socket, 'close');
  await cluster.close();
  await closed;
  assert.ok((await asked) instanceof Error);
});
