import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { portOf } from '../../../test/support/network/loopback-port.ts';
import { inKafkajs } from '../../kafka/kafkajs/kafkajs-internals.ts';
import { answersCoordinators } from './probes.ts';

/** The broker that the fake brokers name as the coordinator. */
const COORDINATOR_ID = 2;

/** Answers FindCoordinator (10) without error, and Heartbeat (12) and EndTxn (26) with these errors. */
function coordinator(heartbeatError: number, endTransactionError: number) {
  const encoder = () => new (inKafkajs('protocol/encoder.js'))();
  return createServer((socket: Socket) => {
    socket.once('data', (request) => {
      const key = request.readInt16BE(4);
      const answer = encoder().writeInt32(request.readInt32BE(8));
      if (key !== 12) answer.writeInt32(0); // throttle time
      if (key !== 10) answer.writeInt16(key === 12 ? heartbeatError : endTransactionError);
      else
        answer.writeInt16(0).writeString('NONE').writeInt32(COORDINATOR_ID).writeString('localhost').writeInt32(9092);
      socket.end(encoder().writeBytes(answer.buffer).buffer);
    });
  });
}

test('a broker that is named as the coordinator, but answers NOT_COORDINATOR, is not ready; any other broker is ready', async (t) => {
  const port = await portOf(t, coordinator(16, 16));
  assert.equal(await answersCoordinators('127.0.0.1', port, COORDINATOR_ID), false);
  assert.equal(await answersCoordinators('127.0.0.1', port, COORDINATOR_ID + 1), true);
});
