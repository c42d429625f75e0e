import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readinessChecks } from '../../../src/app/readiness.ts';
import { createStatusProcessor } from '../../../src/app/status-processor.ts';
import { ConnectorError } from '../../../src/errors.ts';

const topics = { name: 'topics', ok: true, why: 'they are as they should be' };

test('a price processor is ready while it is a member of its group, and says why when it is none', () => {
  const { events, status } = createStatusProcessor({
    name: 'prices',
    target: () => ({ state: 'running', generation: 0, changed: new AbortController().signal }),
    clock: { wallMs: () => 0 },
    describe: (error) => (error instanceof Error ? error.message : ''),
  });
  const prices = () => {
    const checks = readinessChecks({ topics, isStopping: false, sources: [], processor: status() });
    return checks.find(({ name }) => name === 'prices');
  };
  const failure = { failures: 1, waitMs: 100, err: new ConnectorError('KAFKA_UNREACHABLE', 'The group is away.') };

  assert.equal(prices()?.ok, false);
  events.processorJoined({ partitions: 6 });
  assert.equal(prices()?.ok, true);
  events.processorAttemptFailed({ ...failure, isMember: true });
  assert.equal(prices()?.ok, true, 'it waits for the registry, and holds its partitions');
  events.processorAttemptFailed({ ...failure, isMember: false });
  assert.deepEqual([prices()?.ok, prices()?.why], [false, 'it has not joined its group: The group is away.']);
  events.processorJoined({ partitions: 6 });
  assert.equal(prices()?.ok, true);
});
