import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { answersCoordinators } from '../../../../src/dev/local-stack/probes.ts';
import { createWireWriter, type WireWriter } from '../../../support/kafka/kafka-wire-primitives.ts';

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The broker that the fake ones name as the coordinator. */
const COORDINATOR_ID = 2;

/** Answers FindCoordinator (10) well, and Heartbeat (12) and EndTxn (26) with these errors. */
function coordinator(heartbeatError: number, endTransactionError: number) {
  return createServer((socket: Socket) => {
    socket.once('data', (request) => {
      const key = request.readInt16BE(4);
      const error = createWireWriter().int16(key === 12 ? heartbeatError : endTransactionError);
      const found = createWireWriter().int16(0).string('NONE').int32(COORDINATOR_ID).string('localhost').int32(9092);
      const body = key === 10 ? found : error;
      const throttleTime = createWireWriter().int32(0);
      socket.end(answerTo(request, key === 12 ? [body] : [throttleTime, body]));
    });
  });
}

/** The answer to a request: these parts behind its correlation id. */
function answerTo(request: Buffer, parts: readonly WireWriter[]): Buffer {
  const body = Buffer.concat(parts.map((part) => part.frame().subarray(4)));
  const head = createWireWriter()
    .int32(4 + body.length)
    .int32(request.readInt32BE(8));
  return Buffer.concat([head.frame().subarray(4), body]);
}

test('a broker that is named as the coordinator and does not know it yet is not ready; any other broker is', async (t) => {
  const port = await portOf(t, coordinator(16, 16));
  assert.equal(await answersCoordinators('127.0.0.1', port, COORDINATOR_ID), false);
  assert.equal(await answersCoordinators('127.0.0.1', port, COORDINATOR_ID + 1), true);
});
