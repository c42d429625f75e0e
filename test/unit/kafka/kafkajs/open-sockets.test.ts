import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { BrokerConnections } from '../../../../src/kafka/kafkajs/open-clients.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { portOf } from '../../../support/network/loopback-port.ts';

test('what is open ends with the client, and so does what is opened afterwards; each with an error for those who wait', async (t) => {
  const port = await portOf(t, createServer());
  const sockets = new BrokerConnections([], systemClock, Math.random);
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

test('of the brokers, one that answers comes first; any at all while none does, and each again after a minute', () => {
  let nowMs = 0;
  const socket = new EventEmitter() as Socket;
  const connections = new BrokerConnections(
    ['a:1', 'b:1'],
    { monotonicMs: () => nowMs },
    () => 0,
    () => socket,
  );
  const connect = (host: string) => connections.factory({ host, port: 1, ssl: undefined as never, onConnect() {} });
  connect('a');
  assert.deepEqual(connections.choose(), ['b:1']);
  connect('b');
  assert.deepEqual(connections.choose(), ['a:1']);
  socket.emit('data');
  assert.deepEqual([connections.choose(), connections.answeredMs()], [['a:1'], 0]);
  connect('a');
  nowMs = 60_001;
  assert.deepEqual(connections.choose(), ['a:1']);
});
