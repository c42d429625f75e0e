import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readinessChecks } from '../../../../src/admin/status/readiness.ts';
import { createStatusProcessor } from '../../../../src/admin/status/status-processor.ts';
import { ConnectorError } from '../../../../src/errors.ts';

const kafka = { hasAnswered: true, isSilent: false, silentSeconds: 0, answeredAt: '' };
const topics = { name: 'topics', ok: true, why: 'they are as they should be' };

const PARTITIONS = [0, 1].map((partition) => ({ topic: 'p.instruments', partition }));

test('a price processor that rests has no instruments, which is no count of 0 prices', () => {
  let state: 'running' | 'paused' = 'running';
  const { events, status } = createStatusProcessor({
    name: 'prices',
    target: () => ({ state, restartEpoch: 0, failedRestartEpoch: 0, changed: new AbortController().signal }),
    clock: { wallMs: () => 0, monotonicMs: () => 0 },
    describe: String,
  });
  const freshness = () => ({ kinds: [], instruments: 0 }) as never;
  events.processorStarted({ groupId: 'g', topics: ['p.instruments'], kinds: ['overview'], freshness });
  assert.equal(status(false).freshness?.instruments, 0);
  state = 'paused';
  events.processorRests({ wanted: 'paused' });
  assert.equal(status(false).freshness, null);
});

test('a price processor is ready while it is a member of its group that holds its partitions, or says why it is not', () => {
  const { events, status } = createStatusProcessor({
    name: 'prices',
    target: () => ({ state: 'running', restartEpoch: 0, failedRestartEpoch: 0, changed: new AbortController().signal }),
    clock: { wallMs: () => 0, monotonicMs: () => 0 },
    describe: (error) => (error instanceof Error ? error.message : ''),
  });
  const prices = () => {
    const checks = readinessChecks({ kafka, topics, isStopping: false, sources: [], processor: status(false) });
    return checks.find(({ name }) => name === 'prices');
  };
  const failure = { failures: 1, waitMs: 100, err: new ConnectorError('KAFKA_UNREACHABLE', 'The group is away.') };

  const assigned = { transactionalId: 'x', offset: '0', instruments: 1, durationMs: 1 };
  assert.equal(prices()?.ok, false);
  events.processorJoined({ partitions: 2 });
  assert.deepEqual([prices()?.ok, prices()?.why], [false, '0 of its 2 assigned partitions are fenced and read']);
  for (const partition of PARTITIONS) events.partitionAssigned({ ...partition, ...assigned });
  assert.equal(prices()?.ok, true);
  const [first = { topic: '', partition: 0 }] = PARTITIONS;
  events.partitionWriterLost({ ...first, err: new Error('The writer was cut.') });
  assert.deepEqual(
    [status(false).partitions, status(false).writerTrouble],
    [PARTITIONS.slice(1), 'The writer was cut.'],
  );
  assert.deepEqual(
    [prices()?.ok, prices()?.why],
    [false, '1 of its 2 assigned partitions are fenced and read: The writer was cut.'],
  );
  events.partitionAssigned({ ...first, ...assigned });
  assert.deepEqual([prices()?.ok, status(false).writerTrouble], [true, null]);
  events.processorAttemptFailed({ ...failure, isMember: true });
  assert.equal(prices()?.ok, true, 'it waits for the registry, and holds its partitions');
  const priced = (items: number, kind = 'overview') =>
    events.batchPriced({ items, kind, records: 0, deadLetters: 0, deadLettersOfRepaid: 0 } as never);
  priced(0);
  assert.notEqual(status(false).trouble, null, 'a batch that asks for nothing shows no answer');
  priced(1);
  assert.equal(status(false).trouble, null);
  events.bulkAttemptFailed({ ...failure, kind: 'daily', items: 5 });
  priced(1);
  assert.match(status(false).trouble?.message ?? '', /group is away/, 'overview is answered, daily is not');
  priced(1, 'daily');
  assert.equal(status(false).trouble, null);
  events.processorAttemptFailed({ ...failure, isMember: false });
  assert.deepEqual([prices()?.ok, prices()?.why], [false, 'not joined its group: The group is away.']);
  events.processorJoined({ partitions: 2 });
  assert.equal(prices()?.ok, true);
  events.partitionLost({ ...first, why: 'another has it' });
  assert.deepEqual(status(false).partitions, PARTITIONS.slice(1));
});
