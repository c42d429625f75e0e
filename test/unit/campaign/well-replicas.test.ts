import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askAll, stopAll } from '../../campaign/well-replicas.ts';

const never = new Promise<never>(() => {});

test('a process that does not answer is stuck', async () => {
  const usage = async () => ({}) as never;
  const deaf = () => Promise.reject(new Error('two does not answer'));
  assert.deepEqual(
    await askAll([
      { name: 'one', usage },
      { name: 'two', usage: deaf },
    ]),
    [{ kind: 'stuck', text: 'two does not answer' }],
  );
});

test('a process that is asked to stop must end, and well', async () => {
  const signals: string[] = [];
  const ends = { one: 0, two: 1, three: null } as const;
  const replicas = Object.entries(ends).map(([name, code]) => ({
    name,
    ended: code === null ? never : Promise.resolve({ atMs: 0, code }),
    signal: (signal: string) => void signals.push(signal),
  }));
  assert.deepEqual(await stopAll(replicas, 50), [
    { kind: 'stuck', text: 'two was asked to stop, and ended with 1' },
    { kind: 'stuck', text: 'three was asked to stop, and has not within 0.05 s' },
  ]);
  assert.deepEqual(signals, ['SIGTERM', 'SIGTERM', 'SIGTERM']);
});
