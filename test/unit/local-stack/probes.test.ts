import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { freePorts } from '../../../src/local-stack/free-ports.ts';
import {
  acceptsConnections,
  answersApiVersions,
  answersCoordinators,
  answersSubjects,
  hostAndPort,
  isUnfenced,
} from '../../../src/local-stack/probes.ts';
import { createWireWriter, type WireWriter } from '../../support/kafka/kafka-wire-primitives.ts';

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

test('a broker that refuses, hangs up or is not there is not ready', async (t) => {
  const refusing = await portOf(t, broker(35, []));
  const hangingUp = await portOf(
    t,
    createServer((socket) => socket.destroy()),
  );
  const [nobody = 0] = await freePorts(1);
  const answers = await Promise.all([refusing, hangingUp, nobody].map((port) => answersApiVersions('127.0.0.1', port)));
  assert.deepEqual(answers, [false, false, false]);
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

test('groups and transactions can begin when their coordinators are loaded', async (t) => {
  // Unknown member, unknown producer: answers of coordinators that know all that there is.
  const loaded = await portOf(t, coordinator(25, 49));
  const groupsLoading = await portOf(t, coordinator(14, 49));
  const transactionsLoading = await portOf(t, coordinator(25, 14));
  const ports = [loaded, groupsLoading, transactionsLoading];
  const answers = ports.map((port) => answersCoordinators('127.0.0.1', port, COORDINATOR_ID));
  assert.deepEqual(await Promise.all(answers), [true, false, false]);
});

test('a broker that is named as the coordinator and does not know it yet is not ready; any other broker is', async (t) => {
  const port = await portOf(t, coordinator(16, 16));
  assert.equal(await answersCoordinators('127.0.0.1', port, COORDINATOR_ID), false);
  assert.equal(await answersCoordinators('127.0.0.1', port, COORDINATOR_ID + 1), true);
});

test('a broker is unfenced when it is among the brokers that it knows to be alive', async (t) => {
  const server = createServer((socket: Socket) => {
    socket.once('data', (request) => {
      const brokers = createWireWriter().int32(2);
      brokers.int32(1).string('a').int32(9092).int16(-1);
      brokers.int32(3).string('broker-3.example').int32(9093).string('rack');
      socket.end(answerTo(request, [brokers, createWireWriter().int32(1).int32(0)]));
    });
  });
  const port = await portOf(t, server);
  const answers = await Promise.all([1, 2, 3].map((nodeId) => isUnfenced('127.0.0.1', port, nodeId)));
  assert.deepEqual(answers, [true, false, true]);
  const [nobody = 0] = await freePorts(1);
  assert.equal(await isUnfenced('127.0.0.1', nobody, 1), false);
});

test('a port that accepts connections and says nothing is reachable, but no broker', async (t) => {
  const port = await portOf(
    t,
    createServer((socket) => t.after(() => socket.destroy())),
  );
  assert.equal(await acceptsConnections('127.0.0.1', port), true);
  assert.equal(await answersApiVersions('127.0.0.1', port), false);
});

test('a registry is ready when its list of subjects is', async (t) => {
  const server = createHttpServer((request, response) => {
    response.writeHead(request.url === '/api/subjects' ? 200 : 503).end('[]');
  });
  const port = await portOf(t, server);
  assert.equal(await answersSubjects(`http://127.0.0.1:${port}/api`), true);
  assert.equal(await answersSubjects(`http://127.0.0.1:${port}`), false);
  const [nobody] = await freePorts(1);
  assert.equal(await answersSubjects(`http://127.0.0.1:${nobody}`), false);
});

test('an address is taken apart at its last colon', () => {
  assert.deepEqual(hostAndPort('kafka-1.example:9092'), { host: 'kafka-1.example', port: 9092 });
  assert.deepEqual(hostAndPort('[::1]:9092'), { host: '::1', port: 9092 });
});
