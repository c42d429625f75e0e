import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planRounds } from '../../../../src/kafka/kafkajs/send-plan.ts';
import type { OutgoingRecord } from '../../../../src/kafka/record.ts';

const record = (topic: string, partition: number, bytes = 1): OutgoingRecord => ({
  topic,
  partition,
  key: null,
  value: Buffer.alloc(bytes),
  headers: {},
});
/** Of a batch with this record alone. */
const bytesOf = (alone: OutgoingRecord) => planRounds({ records: [alone] }, LIMITS)[0]?.[0]?.bytes ?? 0;
const LIMITS = { maxSendBytes: 1_000, maxSendRecords: 100, maxRoundBytes: 3_000 };
test('every record is sent exactly once, in order within its partition, whatever comes', () => {
  const anyRecord = fc.record({ topic: fc.constantFrom('a', 'b'), partition: fc.nat(2), bytes: fc.nat(700) });
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 40 }), (wanted) => {
      const records = wanted.map(({ topic, partition, bytes }) => record(topic, partition, bytes));
      const sourceOffset = records.at(-1);
      const rounds = planRounds(
        { records: records.slice(0, -1), sourceOffset },
        { maxSendBytes: 1_000, maxSendRecords: 5, maxRoundBytes: 2_000 },
      );
      const sends = rounds.flat();
      for (const round of rounds) {
        const partitions = round.map(({ topic, partition }) => `${topic}/${partition}`);
        assert.equal(new Set(partitions).size, round.length, 'one batch for each partition');
        assert.ok(round.length === 1 || round.reduce((sum, { bytes }) => sum + bytes, 0) <= 2_000);
      }
      for (const { topic, partition, records: sent, bytes } of sends) {
        assert.ok(sent.length > 0 && sent.length <= 5);
        assert.ok(sent.every((r) => r.topic === topic && r.partition === partition));
        const inAll = sent.reduce((sum, r) => sum + bytesOf(r), 0);
        assert.equal(bytes, inAll);
        assert.ok(sent.length === 1 || bytes <= 1_000);
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

test('a batch is cut to what its topic takes, where that is less than the plan', () => {
  const row = (topic: string) => ({ topic, partition: 0, key: null, value: Buffer.alloc(100), headers: {} });
  const records = [...Array.from({ length: 6 }, () => row('small')), ...Array.from({ length: 6 }, () => row('wide'))];
  const maxBatchBytes = (topic: string) => ({ small: 400, wide: 4_000 })[topic];
  const sends = planRounds({ records }, { ...LIMITS, maxBatchBytes }).flat();
  const sizes = (name: string) => sends.filter(({ topic }) => topic === name).map((send) => send.records.length);
  assert.deepEqual([sizes('small'), sizes('wide')], [[2, 2, 2], [6]]);
});
