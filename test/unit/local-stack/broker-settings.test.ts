import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asEnvironment, asProperties, brokerSettings } from '../../../src/local-stack/broker-settings.ts';

function node(id: number) {
  return { id, listener: `127.0.0.1:${id}1`, advertised: `proxy:${id}`, controller: `127.0.0.1:${id}2` };
}

test('a single broker keeps one replica of everything', () => {
  const settings = brokerSettings(node(1), [node(1)], {});
  assert.equal(settings['controller.quorum.voters'], '1@127.0.0.1:12');
  assert.equal(settings.listeners, 'PLAINTEXT://127.0.0.1:11,CONTROLLER://127.0.0.1:12');
  assert.equal(settings['advertised.listeners'], 'PLAINTEXT://proxy:1');
  assert.equal(settings['offsets.topic.replication.factor'], '1');
  assert.equal(settings['transaction.state.log.min.isr'], '1');
});

test('three brokers agree on their voters, and keep three replicas of which two must be in step', () => {
  const all = [1, 2, 3].map(node);
  const settings = brokerSettings(node(2), all, {});
  assert.equal(settings['node.id'], '2');
  assert.equal(settings['controller.quorum.voters'], '1@127.0.0.1:12,2@127.0.0.1:22,3@127.0.0.1:32');
  assert.equal(settings['transaction.state.log.replication.factor'], '3');
  assert.equal(settings['transaction.state.log.min.isr'], '2');
});

test("a test's own settings are stronger than the quick ones", () => {
  const settings = brokerSettings(node(1), [node(1)], {
    'group.min.session.timeout.ms': '6000',
    'message.max.bytes': '1',
  });
  assert.equal(settings['group.min.session.timeout.ms'], '6000');
  assert.equal(settings['message.max.bytes'], '1');
  assert.equal(settings['auto.create.topics.enable'], 'false');
});

test('settings are written for a file and for the image', () => {
  const settings = { 'log.dirs': 'C:\\data', 'a_b.c-d': '1' };
  assert.equal(asProperties(settings), 'log.dirs=C:\\\\data\na_b.c-d=1\n');
  assert.deepEqual(asEnvironment(settings), { KAFKA_LOG_DIRS: 'C:\\data', KAFKA_A__B_C___D: '1' });
});
