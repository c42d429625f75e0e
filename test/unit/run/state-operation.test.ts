import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestRestart, requestState, requestWalk } from '../../../src/run/state-operation.ts';
import { decodeState } from '../../../src/sources/source-state.ts';
import { memoryInstallation } from '../../support/memory-kafka/memory-installation.ts';

async function place() {
  const { broker, ...at } = await memoryInstallation();
  const newest = (source: string) => {
    const record = broker.readCommitted('p.states', 0).findLast(({ key }) => String(key) === source);
    return decodeState({ value: record?.value ?? null }) ?? assert.fail('it cannot be read');
  };
  return { at, newest };
}

test('requests of the same moment keep what the others have changed', async () => {
  const { at, newest } = await place();
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
