import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bridgeLog } from '../../../../src/kafka/kafkajs/kafkajs-log.ts';
import type { Log } from '../../../../src/support/log.ts';

const CONCURRENT =
  'The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing';

function lines(level: number, message: string, extra: object = {}, namespace = 'Producer') {
  const seen: [string, object][] = [];
  const to = (name: string) => (fields: object) => void seen.push([name, fields]);
  const log: Log = { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
  const entry = { timestamp: 'now', logger: 'kafkajs', message, ...extra };
  bridgeLog(log)(level)({ namespace, level, label: 'x', log: entry });
  return seen;
}

test('an error of kafkajs is a warning of the connector, without its stack', () => {
  assert.deepEqual(lines(1, 'Connection error: refused', { broker: 'b:1', stack: 'at …' }), [
    ['warn', { broker: 'b:1', kafkajs: 'Producer', detail: 'Connection error: refused' }],
  ]);
});

test('warnings stay, information becomes debug', () => {
  assert.equal(lines(2, 'odd')[0]?.[0], 'warn');
  assert.equal(lines(4, 'Consumer has joined the group')[0]?.[0], 'debug');
});

test('errors that are part of normal work are debug lines', () => {
  assert.equal(lines(1, 'Response InitProducerId(key: 22, version: 1)', { error: CONCURRENT })[0]?.[0], 'debug');
  assert.equal(lines(1, `Failed to send messages: ${CONCURRENT}`)[0]?.[0], 'debug');
  const unknown = { error: 'This server does not host this topic-partition' };
  assert.equal(lines(1, 'Response Metadata(key: 3, version: 6)', unknown)[0]?.[0], 'debug');
  const moving = { error: 'This server is not the leader for that topic-partition' };
  assert.equal(lines(1, 'Response ListOffsets(key: 2, version: 3)', moving)[0]?.[0], 'debug');
  assert.equal(lines(1, 'Response Metadata(key: 3, version: 6)', { error: 'other' })[0]?.[0], 'warn');
});

test('each single attempt to connect is a debug line: the code that needed the connection says what came of it', () => {
  assert.equal(lines(1, 'Connection error: connect ECONNREFUSED', {}, 'Connection')[0]?.[0], 'debug');
  assert.equal(lines(1, 'Failed to connect to seed broker', {}, 'BrokerPool')[0]?.[0], 'debug');
});
