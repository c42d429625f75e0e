import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { API_KEYS, type ApiName, createFrameSplitter } from '../kafka/kafka-wire.ts';
import { createWireReader, createWireWriter } from '../kafka/kafka-wire-primitives.ts';
import { startTcpProxies } from './tcp-proxy.ts';

test('each connection leads to its own broker, and a rule for one request hits one of all brokers', async (t) => {
  const brokers = [await startBroker(t, 'a'), await startBroker(t, 'b')];
  const proxies = await startTcpProxies(brokers);
  t.after(() => proxies.close());
  const [toA, toB] = brokers.map((broker) => ask(t, proxies.socketFactory, broker));
  const rule = proxies.addRule({ on: 'Produce', fault: 'cutAnswer', skip: 1 });

  assert.equal(await toA?.('Metadata'), 'a');
  assert.equal(await toB?.('Produce'), 'b');
  assert.equal(await toA?.('Produce'), 'cut');
  assert.equal(await toB?.('Produce'), 'b');
  assert.equal(rule.hits(), 1);
  assert.deepEqual(
    proxies.trace.map(({ api, broker, fault }) => [api, brokers.indexOf(broker), fault]),
    [
      ['Metadata', 0, undefined],
      ['Produce', 1, undefined],
      ['Produce', 0, 'cutAnswer'],
      ['Produce', 1, undefined],
    ],
  );
  assert.equal(new Set(proxies.trace.map(({ connection }) => connection)).size, 2);
});

test('a connection to a broker that has no proxy is refused', async (t) => {
  const [known, other] = [await startBroker(t, 'known'), await startBroker(t, 'other')];
  const proxies = await startTcpProxies([known]);
  t.after(() => proxies.close());
  assert.throws(() => ask(t, proxies.socketFactory, other), { message: /^No proxy is before 127\.0\.0\.1:\d+, only/ });
});

/** A broker that answers every request with its name. */
async function startBroker(t: TestContext, name: string): Promise<string> {
  const server = createServer((socket) => {
    const split = createFrameSplitter();
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const frame of split(chunk)) {
        socket.write(createWireWriter().int32(frame.readInt32BE(8)).string(name).frame());
      }
    });
  });
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type SocketFactory = Awaited<ReturnType<typeof startTcpProxies>>['socketFactory'];

/** Asks on one connection; what the broker calls itself, or `cut`. */
function ask(t: TestContext, socketFactory: SocketFactory, broker: string): (api: ApiName) => Promise<string> {
  const [host = '', port] = broker.split(':');
  const socket: Socket = socketFactory({ host, port: Number(port), onConnect: () => undefined });
  t.after(() => socket.destroy());
  const split = createFrameSplitter();
  let correlationId = 0;
  return async (api) => {
    correlationId += 1;
    socket.write(createWireWriter().int16(API_KEYS[api]).int16(0).int32(correlationId).frame());
    const answered = once(socket, 'data').then(([chunk]) => split(chunk as Buffer)[0]);
    const cut = once(socket, 'close').then(() => undefined);
    const frame = await Promise.race([answered, cut]).catch(() => undefined);
    if (frame === undefined) return 'cut';
    const reader = createWireReader(frame);
    reader.skip(4 + 4); // length, correlation id
    return reader.string();
  };
}
