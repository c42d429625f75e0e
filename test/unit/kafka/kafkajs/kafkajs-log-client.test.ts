import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kafkajsLogClients, partOf } from '../../../../src/kafka/kafkajs/kafkajs-log-client.ts';
import { loadKafkajs } from '../../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { DEFAULT_TUNING } from '../../../../src/kafka/kafkajs/tuning.ts';
import { SteppedClock } from '../stepped-clock.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

function raw(offset: number, { producerId = '1', isControlRecord = false, key = Buffer.from('k') } = {}) {
  const batchContext = { producerId, inTransaction: true };
  const value = Buffer.from(`v${offset}`);
  const headers = { one: Buffer.from('1'), many: ['a', 'b'], none: undefined };
  return { offset: String(offset), key, value, headers, timestamp: '12', attributes: 0, isControlRecord, batchContext };
}

const abortMarker = (offset: number, producerId: string) =>
  raw(offset, { producerId, isControlRecord: true, key: Buffer.alloc(4) });

function offsetsOf(part: ReturnType<typeof partOf>) {
  return [part.records.map(({ offset }) => Number(offset)), Number(part.nextOffset)];
}

test('a part has the records from the offset that was asked for, although its first batch begins before', () => {
  const part = partOf('t', { partition: 3, messages: [raw(4), raw(5), raw(6)] }, 5n);
  assert.deepEqual(offsetsOf(part), [[5, 6], 7]);
  const { headers, timestampMs, topic, partition } = part.records[0] ?? {};
  assert.deepEqual(headers, { one: '1', many: 'b', none: '' });
  assert.deepEqual([timestampMs, topic, partition], [12, 't', 3]);
});

test('control records and aborted ones are passed, and are no records', () => {
  const messages = [raw(1, { producerId: '7' }), raw(2), abortMarker(3, '7'), raw(4, { isControlRecord: true })];
  const abortedTransactions = [{ producerId: '7', firstOffset: '0' }];
  assert.deepEqual(offsetsOf(partOf('t', { partition: 0, messages, abortedTransactions }, 1n)), [[2], 5]);
});

test('a fetch that gave nothing moves nothing', () => {
  assert.deepEqual(offsetsOf(partOf('t', { partition: 0, messages: [] }, 9n)), [[], 9]);
});

test('the cluster that kafkajs builds for its consumers has all that reading without them needs', () => {
  const { Kafka, logLevel } = loadKafkajs();
  const kafka = new Kafka({ brokers: ['127.0.0.1:1'], logLevel: logLevel.NOTHING });
  const parts = { tuning: DEFAULT_TUNING, clock: new SteppedClock(), log: silent, onSilence() {} };
  assert.ok(kafkajsLogClients({ kafka, ...parts })('t'));
  assert.throws(() => kafkajsLogClients({ kafka: {} as typeof kafka, ...parts }), /Install kafkajs 2.2.4 exactly/);
});
