import assert from 'node:assert/strict';
import { test } from 'node:test';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { requestRestart, requestState, requestWalk, type StatesPlace } from '../../../src/run/state-operation.ts';
import { decodeState } from '../../../src/sources/source-state.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

function place() {
  const broker = new MemoryBroker(() => 0);
  const topics = topicPlan({ prefix: 'p', names: {}, partitions: 1, replicationFactor: 1 });
  broker.createTopic(topics.states);
  const at: StatesPlace = {
    prefix: 'p',
    kafka: createMemoryCluster({ broker }),
    topics,
    clock: skippingClock(),
    signal: new AbortController().signal,
  };
  const newest = (source: string) => {
    const record = broker.readCommitted('p.states', 0).findLast(({ key }) => String(key) === source);
    const decoded = decodeState({ value: record?.value ?? null });
    assert.equal(decoded.kind, 'state');
    return decoded.kind === 'state' ? decoded.state : null;
  };
  return { at, newest };
}

test('requests of the same moment keep what the others have changed', async () => {
  const { at, newest } = place();
  const requests = [
    requestWalk(at, { source: 'a', allowShrink: 7 }),
    requestState(at, 'a', 'stopped'),
    requestRestart(at, 'a'),
  ];
  await Promise.all([...requests, requestState(at, 'b', 'paused')]);
  const { state, walk, restart } = newest('a') ?? {};
  assert.deepEqual([state, walk?.allowShrink, restart === null], ['stopped', 7, false]);
  assert.equal(newest('b')?.state, 'paused');
});
