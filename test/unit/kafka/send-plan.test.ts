import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { planSends, recordBytes } from '../../../src/kafka/send-plan.ts';
import { DEFAULT_TUNING } from '../../../src/kafka/tuning.ts';

const record = (topic: string, partition: number, bytes = 1): OutgoingRecord => ({
  topic,
  partition,
  key: null,
  value: Buffer.alloc(bytes),
  headers: {},
});
const shape = (records: OutgoingRecord[], maxSendBytes = 1_000, maxSendRecords = 100) =>
  planSends(records, { maxSendBytes, maxSendRecords }).map(
    (send) => `${send.topic}/${send.partition}:${send.records.length}`,
  );

test('without records there is nothing to send', () => {
  assert.deepEqual(shape([]), []);
});

test('each send has one partition, and the partition named last comes last with all its records', () => {
  assert.deepEqual(shape([record('o', 1), record('a', 0), record('b', 0), record('a', 0), record('o', 1)]), [
    'a/0:2',
    'b/0:1',
    'o/1:2',
  ]);
});

test('a partition is cut into sends by bytes and by number', () => {
  assert.deepEqual(shape(Array(5).fill(record('a', 0, 400))), ['a/0:2', 'a/0:2', 'a/0:1']);
  assert.deepEqual(shape(Array(5).fill(record('a', 0)), 1_000, 2), ['a/0:2', 'a/0:2', 'a/0:1']);
});

test('a record larger than a send goes alone', () => {
  assert.deepEqual(shape([record('a', 0), record('a', 0, 5_000), record('a', 0)]), ['a/0:1', 'a/0:1', 'a/0:1']);
});

test('key, value and headers all count', () => {
  const plain = recordBytes(record('a', 0, 10));
  const key = Buffer.alloc(7);
  assert.ok(recordBytes({ ...record('a', 0, 10), key, headers: { née: 'é' } }) >= plain + 7 + 4 + 2);
});

test('every record is sent exactly once, in order within its partition, whatever comes', () => {
  const anyRecord = fc.record({ topic: fc.constantFrom('a', 'b'), partition: fc.nat(2), bytes: fc.nat(700) });
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 40 }), (wanted) => {
      const records = wanted.map(({ topic, partition, bytes }) => record(topic, partition, bytes));
      const sends = planSends(records, { maxSendBytes: 1_000, maxSendRecords: 5 });
      for (const { topic, partition, records: sent } of sends) {
        assert.ok(sent.length > 0 && sent.length <= 5);
        assert.ok(sent.every((r) => r.topic === topic && r.partition === partition));
        assert.ok(sent.length === 1 || sent.reduce((sum, r) => sum + recordBytes(r), 0) <= 1_000);
      }
      for (const topic of ['a', 'b']) {
        for (const partition of [0, 1, 2]) {
          const here = (r: { topic: string; partition: number }) => r.topic === topic && r.partition === partition;
          const sent = sends.filter(here).flatMap((send) => send.records);
          assert.deepEqual(sent, records.filter(here));
        }
      }
      assert.equal(sends.at(-1)?.records.at(-1), records.at(-1));
    }),
    { numRuns: 200 },
  );
});

test('the limits keep a send below what brokers take by default, and the client below what its rules allow', () => {
  assert.ok(DEFAULT_TUNING.maxSendBytes <= 900_000);
  assert.ok(DEFAULT_TUNING.openGraceMs >= 20_000);
  assert.ok(DEFAULT_TUNING.retries > 0);
  assert.ok(DEFAULT_TUNING.readWaitMs <= 500);
});
