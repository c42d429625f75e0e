import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { isFenced, isLoginFailure, isUnanswered, kafkaReason } from '../../../../src/kafka/kafkajs/kafkajs-errors.ts';
import { portOf } from '../../../support/network/loopback-port.ts';

const coded = (code: number, message = 'no') => Object.assign(new Error(message), { code, type: `TYPE_${code}` });

test('an error is a fencing by its code, at any depth, or by the code that kafkajs does not know', () => {
  for (const code of [47, 48, 49, 90]) assert.equal(isFenced(new Error('outer', { cause: coded(code) })), true);
  assert.equal(isFenced(coded(-99, 'Unknown error code 90')), true);
  assert.equal(isFenced(coded(51)), false);
  assert.equal(isFenced(new Error('Broker not connected')), false);
  assert.equal(isFenced(undefined), false);
});

test('that no broker answers is distinguished from what a broker refuses', () => {
  const named = (name: string) => new Error('outer', { cause: Object.assign(new Error('no'), { name }) });
  for (const name of ['KafkaJSConnectionError', 'KafkaJSConnectionClosedError', 'KafkaJSRequestTimeoutError']) {
    assert.equal(isUnanswered(named(name)), true, name);
  }
  assert.equal(isUnanswered(new Error('Broker not connected')), true, 'it was lost between two requests');
  for (const name of ['KafkaJSProtocolError', 'Error']) assert.equal(isUnanswered(named(name)), false, name);
});

test('a login at a listener without SASL says so, and names the variables', () => {
  const refused = Object.assign(new Error('Request is not valid given the current SASL state'), {
    type: 'ILLEGAL_SASL_STATE',
  });
  const error = new Error('of the client', { cause: refused });
  assert.equal(isLoginFailure(error), true);
  assert.match(kafkaReason(error), /^This listener has no SASL: unset .*\(KAFKA_SASL_MECHANISM\)/);
});

test('a TLS connection to a port without TLS says so; a connection that was lost is called that', async (t) => {
  const server = createServer((socket) => socket.once('data', () => socket.end()));
  const port = await portOf(t, server);
  const [error] = await once(connect({ port, host: '127.0.0.1' }), 'error').catch((error: unknown) => [error]);
  const advice = /: check that the port in kafka\.brokers \(KAFKA_BROKERS\) speaks TLS$/;
  assert.match(kafkaReason(new Error('of the client', { cause: error })), advice);
  assert.equal(kafkaReason(new Error('Broker not connected')), 'the connection to the broker was lost');
});
