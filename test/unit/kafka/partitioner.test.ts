import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { murmur2 } from '../../../src/kafka/record.ts';

// The vectors of Kafka's own UtilsTest.
const KAFKA_VECTORS: readonly [string, number][] = [
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
];

for (const [key, hash] of KAFKA_VECTORS) {
  test(`the hash of "${key}" is that of Kafka's Java client`, () => {
    assert.equal(murmur2(Buffer.from(key)), hash);
  });
}

test('keys of every length and any bytes hash as in kafkajs', () => {
  const theirs = createRequire(import.meta.url)('kafkajs/src/producer/partitioners/default/murmur2.js');
  for (let length = 0; length < 64; length++) {
    const key = randomBytes(length);
    assert.equal(murmur2(key), theirs(key), key.toString('hex'));
  }
});
