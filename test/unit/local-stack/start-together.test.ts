import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTogether } from '../../../src/local-stack/start-together.ts';

function part(name: string, stopped: string[]) {
  return { name, stop: async () => void stopped.push(name) };
}

test('all start at once and are given back in order', async () => {
  const stopped: string[] = [];
  const bothBegun = Promise.withResolvers<void>();
  const first = async () => {
    await bothBegun.promise;
    return part('kafka', stopped);
  };
  const second = async () => {
    bothBegun.resolve();
    return part('registry', stopped);
  };
  const [kafka, registry] = await startTogether([first, second]);
  assert.deepEqual([kafka.name, registry.name, stopped], ['kafka', 'registry', []]);
});

test('when one fails, one that is still starting is awaited and stopped', async () => {
  const stopped: string[] = [];
  const failed = Promise.withResolvers<void>();
  const slow = async () => {
    await failed.promise;
    await new Promise((resolve) => setImmediate(resolve));
    return part('slow', stopped);
  };
  const failing = async () => {
    failed.resolve();
    throw new Error('no Java');
  };
  await assert.rejects(startTogether([slow, failing]), { message: 'no Java' });
  assert.deepEqual(stopped, ['slow']);
});
