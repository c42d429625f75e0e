import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterRecord } from '../../../src/kafka/dead-letter.ts';
import { recordBytes } from '../../../src/kafka/kafkajs/send-plan.ts';

const MIB = 1024 * 1024;
const topic = { name: 'dead-letters', partitions: 1 };
const of = (key: string | null, raw: Buffer) =>
  deadLetterRecord({
    topic,
    source: 'prices',
    targetTopic: 'prices',
    input: { key, pointer: '', reason: 'no id', raw },
    provenance: {},
  });

test('a dead letter keeps its key and its bytes', () => {
  const { key, value } = of('7', Buffer.from('raw'));
  assert.deepEqual([String(key), String(value)], ['7', 'raw']);
  assert.equal(of(null, Buffer.from('raw')).key, null);
});

test('whatever the input, a dead letter is no larger than every broker takes', () => {
  const letter = of('x'.repeat(2 * MIB), Buffer.alloc(4 * MIB, 1));
  assert.ok(recordBytes(letter) < MIB / 2);
  assert.equal(letter.key, null);
  assert.equal(letter.headers['spc-length'], String(4 * MIB));
});
