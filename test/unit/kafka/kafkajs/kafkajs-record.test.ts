import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeFetchedRecord } from '../../../../src/kafka/kafkajs/kafkajs-record.ts';

const require = createRequire(import.meta.url);
const inKafkajs = (module: string) => require(`kafkajs/src/${module}.js`);
// As it was before any patch: the oracle.
const decodeByKafkajs = inKafkajs('protocol/recordBatch/record/v0/decoder');
const encodeRecord = inKafkajs('protocol/recordBatch/record/v0/index');
const Decoder = inKafkajs('protocol/decoder');
const Long = inKafkajs('utils/long');

const LOOKED_AT = ['offset', 'timestamp', 'key', 'value', 'headers', 'isControlRecord'] as const;
const bytes = fc.option(
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
  { nil: null },
);
const name = fc.constantFrom('spc-source', 'spc-received', 'ä', '', 'x'.repeat(70));
const headerValue = fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array));
const int64 = fc.bigInt({ min: 0n, max: 2n ** 62n }).map(String);

test('every record is read as by kafkajs itself', () => {
  const record = fc.record({
    key: bytes,
    value: bytes,
    headers: fc.dictionary(name, fc.oneof(headerValue, fc.array(headerValue, { minLength: 2, maxLength: 3 }))),
    offsetDelta: fc.integer({ min: 0, max: 2 ** 30 }),
    timestampDelta: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
    firstOffset: int64,
    firstTimestamp: int64,
    maxTimestamp: int64,
    timestampType: fc.constantFrom(0, 1),
    isControlBatch: fc.boolean(),
  });
  fc.assert(
    fc.property(record, ({ key, value, headers, offsetDelta, timestampDelta, ...batch }) => {
      const context = { ...batch, producerId: '7', inTransaction: true, magicByte: 2 };
      const delta = Long.fromValue(String(timestampDelta));
      const framed = encodeRecord({ offsetDelta, timestampDelta: delta, key, value, headers });
      const read = () => new Decoder(new Decoder(framed.buffer).readVarIntBytes());
      const [ours, theirs] = [decodeFetchedRecord(read(), context), decodeByKafkajs(read(), context)];
      for (const field of LOOKED_AT) assert.deepEqual(ours[field], theirs[field], field);
      assert.equal(ours.batchContext, context);
    }),
  );
});
