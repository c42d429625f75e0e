import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFenced, isLeaderless, isUnanswered, kafkaReason } from '../../../../src/kafka/kafkajs/kafkajs-errors.ts';

const coded = (code: number, message = 'no') => Object.assign(new Error(message), { code, type: `TYPE_${code}` });

test('an error is a fencing by its code, at any depth, or by the code that kafkajs does not know', () => {
  for (const code of [47, 48, 49, 90]) assert.equal(isFenced(new Error('outer', { cause: coded(code) })), true);
  assert.equal(isFenced(coded(-99, 'Unknown error code 90')), true);
  assert.equal(isFenced(coded(51)), false);
  assert.equal(isFenced(new Error('Broker not connected')), false);
  assert.equal(isFenced(undefined), false);
});

test('a moving leader is distinguished from other errors by the name that the broker gives', () => {
  const moving = Object.assign(new Error('no'), { type: 'NOT_LEADER_FOR_PARTITION' });
  assert.equal(isLeaderless(new Error('outer', { cause: moving })), true);
  assert.equal(isLeaderless(coded(3)), false);
});

test('the reason is the name that the broker gives, else the innermost message', () => {
  assert.equal(kafkaReason(new Error('outer', { cause: coded(47, 'old epoch') })), 'TYPE_47: old epoch');
  assert.equal(kafkaReason(new Error('outer', { cause: new Error('ECONNREFUSED') })), 'ECONNREFUSED');
  assert.equal(kafkaReason('text'), 'text');
});

test('causes that lead back to themselves end', () => {
  const circular = new Error('round');
  circular.cause = circular;
  assert.equal(isFenced(circular), false);
});

test('that no broker answers is distinguished from what a broker refuses', () => {
  const named = (name: string) => new Error('outer', { cause: Object.assign(new Error('no'), { name }) });
  for (const name of ['KafkaJSConnectionError', 'KafkaJSConnectionClosedError', 'KafkaJSRequestTimeoutError']) {
    assert.equal(isUnanswered(named(name)), true, name);
  }
  assert.equal(isUnanswered(new Error('Broker not connected')), true, 'it was lost between two requests');
  for (const name of ['KafkaJSProtocolError', 'Error']) assert.equal(isUnanswered(named(name)), false, name);
});
