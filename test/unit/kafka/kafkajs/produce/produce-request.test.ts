import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import {
  BufferPool,
  encodeProduceRequest,
  framedInPlace,
  type ProduceRequest,
} from '../../../../../src/kafka/kafkajs/produce/produce-request.ts';
import { BATCH_HEAD_BYTES, RecordBatchWriter } from '../../../../../src/kafka/kafkajs/produce/record-batch.ts';

const require = createRequire(import.meta.url);
const kafkajsProduce = require('kafkajs/src/protocol/requests/produce/v7/request.js');
const kafkajsFrame = require('kafkajs/src/protocol/request.js');
const NONE = 0;
const GZIP = 1;
const ZSTD = 4;
const NOW_MS = 1_790_000_000_123;

const writer = new RecordBatchWriter();
const pool = new BufferPool();
/** What goes over the wire, framed. */
async function ours(request: ProduceRequest, clientId = 'client'): Promise<Buffer> {
  const framed = await encodeProduceRequest(request, writer, pool);
  const frame = framedInPlace(() => assert.fail('framed in place'));
  const of = { correlationId: 7, clientId, request: { apiKey: 0, apiVersion: 7, encode: async () => framed } };
  const bytes = Buffer.from((await frame(of)).buffer);
  pool.giveBack(framed.buffer);
  return bytes;
}

async function kafkajs(request: ProduceRequest, clientId = 'client'): Promise<Buffer> {
  const topicData = request.topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map(({ records, ...rest }) => ({
      ...rest,
      messages: records.map((record) => ({ ...record, timestamp: String(NOW_MS) })),
    })),
  }));
  const settings = { acks: -1, timeout: request.timeoutMs, compression: request.codec, topicData };
  const { transactionalId, producerId, producerEpoch } = request;
  const encoded = kafkajsProduce({ ...settings, transactionalId, producerId: String(producerId), producerEpoch });
  return (await kafkajsFrame({ correlationId: 7, clientId, request: encoded })).buffer;
}

const HEAD = { transactionalId: 'spc-sources-3', producerId: 4_000_000_001n, producerEpoch: 12, timeoutMs: 30_000 };
const request = (more: Partial<ProduceRequest>): ProduceRequest => ({
  ...HEAD,
  codec: NONE,
  timestampMs: NOW_MS,
  topics: [],
  ...more,
});
const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const records = fc.array(
  fc.record({
    key: fc.option(bytes(200)),
    value: fc.option(fc.oneof(bytes(300), bytes(20_000))),
    headers: fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme', maxLength: 70 }), {
      maxKeys: 4,
    }),
  }),
  { minLength: 1, maxLength: 80 },
);
const topics = fc.array(
  fc.record({
    topic: fc.string({ minLength: 1, maxLength: 40 }),
    partitions: fc.array(fc.record({ partition: fc.nat(49), firstSequence: fc.nat(), records }), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  { minLength: 1, maxLength: 3 },
);

test('an uncompressed request is the one that kafkajs writes, byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(topics, async (given) => {
      const of = request({ topics: given });
      assert.deepEqual(await ours(of), await kafkajs(of));
    }),
    { numRuns: 150 },
  );
});

for (const [name, codec, unpack] of [
  ['zstd', ZSTD, zstdDecompressSync],
  ['gzip', GZIP, gunzipSync],
] as const) {
  test(`with ${name} each batch holds the same records, and is marked as packed`, async () => {
    const value = Buffer.from('structured product '.repeat(200));
    const many = Array.from({ length: 50 }, (_, index) => ({ key: Buffer.from(String(index)), value }));
    const partitions = [0, 1, 2].map((partition) => ({ partition, firstSequence: 9, records: many }));
    const packed = await ours(request({ codec, topics: [{ topic: 't', partitions }] }));
    const plain = await ours(request({ topics: [{ topic: 't', partitions }] }));
    assert.ok(packed.length < plain.length / 10);
    const packedBatches = batches(packed);
    const unpacked = packedBatches.map((batch) => unpack(batch.subarray(BATCH_HEAD_BYTES)));
    const expected = batches(plain).map((batch) => batch.subarray(BATCH_HEAD_BYTES));
    assert.deepEqual(unpacked, expected);
    for (const batch of packedBatches) assert.equal(batch.readInt16BE(21), codec | 16, 'codec and transactional');
  });
}

test('records that do not get smaller go unpacked, whatever stands before and after them', async () => {
  const even = Buffer.alloc(5_000);
  const values = [even, randomBytes(5_000), even, Buffer.from([1])];
  const partitions = values.map((value, partition) => ({
    partition,
    firstSequence: 0,
    records: [{ key: null, value }],
  }));
  const topics = [{ topic: 't', partitions }];
  const sent = batches(await ours(request({ codec: ZSTD, topics })));
  const plain = batches(await ours(request({ topics })));
  const codecs = sent.map((batch) => batch.readInt16BE(21) & 7);
  assert.deepEqual(codecs, [ZSTD, NONE, ZSTD, NONE]);
  assert.deepEqual(sent[1], plain[1]);
  assert.deepEqual(sent[3], plain[3]);
});

/** The batches of a framed request, in its order. */
function batches(framed: Buffer): Buffer[] {
  let at = 14 + 'client'.length;
  const string = () => {
    const length = framed.readInt16BE(at);
    at += 2 + length;
  };
  const number = () => {
    at += 4;
    return framed.readInt32BE(at - 4);
  };
  string();
  at += 6;
  const found: Buffer[] = [];
  for (let topicsLeft = number(); topicsLeft > 0; topicsLeft--) {
    string();
    for (let partitionsLeft = number(); partitionsLeft > 0; partitionsLeft--) {
      number();
      const length = number();
      found.push(framed.subarray(at, at + length));
      at += length;
    }
  }
  assert.equal(at, framed.length);
  return found;
}
