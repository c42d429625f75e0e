import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { inKafkajs } from '../../../src/kafka/kafkajs/kafkajs-internals.ts';
import { murmur2 } from '../../../src/kafka/record.ts';

test("keys of every length and any bytes hash as in kafkajs, and as in Kafka's own test", () => {
  const theirs = inKafkajs('producer/partitioners/default/murmur2.js');
  for (let length = 0; length < 64; length++) {
    const key = randomBytes(length);
    assert.equal(murmur2(key), theirs(key), key.toString('hex'));
  }
  assert.equal(murmur2(Buffer.from('a-little-bit-longer-string')), -1486304829);
});
