import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { viewPartition } from './kafka-wire-log.ts';
import { createWireWriter } from './kafka-wire-primitives.ts';

const NOT_LEADER = 6;
const TOPIC_AUTHORIZATION_FAILED = 29;

test('a broker that does not serve the partition yet is asked again', async (t) => {
  const broker = await startBroker(t, [NOT_LEADER, NOT_LEADER, 0]);
  const { batches, highWatermark } = await viewPartition({ broker: broker.address, topic: 'rows', partition: 0 });
  assert.deepEqual({ batches, highWatermark, asked: broker.asked() }, { batches: [], highWatermark: 7, asked: 3 });
});

test('any other error is reported at once, with its number', async (t) => {
  const broker = await startBroker(t, [TOPIC_AUTHORIZATION_FAILED, 0]);
  const view = viewPartition({ broker: broker.address, topic: 'rows', partition: 0 });
  await assert.rejects(view, { message: 'Fetch of rows/0 from 0: error 29.' });
  assert.equal(broker.asked(), 1);
});

/** Answers each connection's one fetch with the next error, and with an empty partition for 0. */
async function startBroker(t: TestContext, errors: readonly number[]) {
  let asked = 0;
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.end(fetchAnswer(errors[asked] ?? 0));
      asked += 1;
    });
  });
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

function fetchAnswer(error: number): Buffer {
  return createWireWriter()
    .int32(0) // correlation id
    .int32(0) // throttle time
    .int32(1)
    .string('rows')
    .int32(1)
    .int32(0)
    .int16(error)
    .int64(7n) // high watermark
    .int64(7n) // last stable offset
    .int64(0n) // log start offset
    .int32(-1) // no aborted transactions
    .int32(0) // no bytes of records
    .frame();
}
