import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareTopic } from '../../../src/kafka/topic-comparison.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';

const plan = topicPlan({ prefix: 'p', names: { prices: 'quotes' }, partitions: 6, replicationFactor: 3 });
const DAY_MS = 86_400_000;

test('what must stay is compacted, what may go is deleted after its days by the clock of the broker', () => {
  const kept = Object.entries(plan).map(([role, { settings, replicationFactor }]) => {
    assert.deepEqual([settings['message.timestamp.type'], replicationFactor], ['LogAppendTime', 3]);
    const days = settings['retention.ms'] === undefined ? '' : ` ${Number(settings['retention.ms']) / DAY_MS} d`;
    return `${role}: ${settings['cleanup.policy']}${days}`;
  });
  assert.deepEqual(kept, [
    'instruments: compact',
    'instrument-events: delete 30 d',
    'pre-trade-checks: compact,delete 30 d',
    'prices: compact,delete 7 d',
    'daily-prices: compact,delete 400 d',
    'intraday-prices: compact,delete 400 d',
    'notifications: delete 90 d',
    'dead-letters: delete 30 d',
    'offsets: compact',
    'states: compact',
  ]);
});

test('the mark of a reset outlives the longest absence of an operator; a topic that keeps it for a day is a warning', () => {
  const { offsets } = plan;
  assert.equal(offsets.settings['delete.retention.ms'], String(90 * DAY_MS));
  const settings = new Map([...Object.entries(offsets.settings), ['delete.retention.ms', String(DAY_MS)]] as const);
  const [warning = '', ...others] = compareTopic(offsets, { partitions: 25, replicas: 3, settings });
  assert.match(
    warning,
    /p\.offsets has delete\.retention\.ms=86400000, but the connector needs 7776000000\. The topic stays as it is/,
  );
  assert.deepEqual(others, []);
});

test('a topic may accept larger records than the connector needs, but not smaller ones', () => {
  const { instruments } = plan;
  const warnings = (bytes: string) => {
    const settings = new Map([...Object.entries(instruments.settings), ['max.message.bytes', bytes]] as const);
    return compareTopic(instruments, { partitions: instruments.partitions, replicas: 3, settings });
  };
  assert.deepEqual(warnings('8388608'), []);
  assert.match(warnings('1048588').join(), /has max\.message\.bytes=1048588, but the connector needs 4194304/);
});
