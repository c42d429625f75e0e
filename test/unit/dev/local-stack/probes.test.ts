import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { answersApiVersions, answersCoordinators } from '../../../../src/dev/local-stack/probes.ts';
import { createWireWriter, type WireWriter } from '../../../support/kafka/kafka-wire-primitives.ts';

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Answers the first request with this error code, byte by byte. */
function broker(errorCode: number, seen: Buffer[]) {
  return createServer((socket: Socket) => {
    socket.once('data', (request) => {
      seen.push(request);
      const answer = Buffer.alloc(14);
      answer.writeInt32BE(10, 0);
      answer.writeInt32BE(request.readInt32BE(8), 4);
      answer.writeInt16BE(errorCode, 8);
      for (const byte of answer) socket.write(Buffer.of(byte));
    });
  });
}

test('a broker that answers ApiVersions is ready', async (t) => {
  const seen: Buffer[] = [];
  assert.equal(await answersApiVersions('127.0.0.1', await portOf(t, broker(0, seen))), true);
  // Length 10, key 18, version 0, an id, no client: as the protocol has it.
  assert.equal(seen[0]?.toString('hex'), '0000000a00120000' + '00000007' + 'ffff');
});

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
