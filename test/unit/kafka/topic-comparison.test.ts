import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectorError } from '../../../src/errors.ts';
import { compareTopic } from '../../../src/kafka/topic-comparison.ts';

const wanted = {
  name: 't',
  partitions: 6,
  replicationFactor: 3,
  settings: { 'cleanup.policy': 'compact,delete', 'retention.ms': '1' },
};
const settings = new Map([
  ['cleanup.policy', 'delete, compact'],
  ['retention.ms', '1'],
  ['other', 'x'],
]);

test('a topic as wanted has no differences, whatever the order of its policies', () => {
  assert.deepEqual(compareTopic(wanted, { partitions: 6, replicas: 3, settings }), []);
});

test('another setting or number of replicas is a warning with wanted and found', () => {
  const found = { partitions: 6, replicas: 1, settings: new Map([...settings, ['retention.ms', '2']]) };
  assert.deepEqual(compareTopic(wanted, found), [
    'Topic t has retention.ms=2, wanted is 1; it was left as it is. Change it with: ' +
      'kafka-configs.sh --alter --entity-type topics --entity-name t --add-config retention.ms=1',
    'Topic t has 1 replicas, wanted is 3; it was left as it is. ' +
      'Change it with kafka-reassign-partitions.sh, or set topics.replicationFactor to the number that it has.',
  ]);
});

test('fewer or more partitions are an error that advises against adding some', () => {
  for (const partitions of [5, 7]) {
    assert.throws(
      () => compareTopic(wanted, { partitions, replicas: 3, settings }),
      (error: ConnectorError) => {
        assert.equal(error.code, 'TOPIC_MISMATCH');
        assert.match(
          error.message,
          new RegExp(`has ${partitions} partitions, and 6 are configured.*every key would move`),
        );
        return true;
      },
    );
  }
});

test('another cleanup policy is an error with the command that changes it', () => {
  const found = { partitions: 6, replicas: 3, settings: new Map([['cleanup.policy', 'delete']]) };
  assert.throws(
    () => compareTopic(wanted, found),
    /needs compact,delete.*--add-config cleanup\.policy=\[compact,delete\]/,
  );
});
