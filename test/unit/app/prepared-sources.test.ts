import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareSources } from '../../../src/app/prepared-sources.ts';
import type { Source } from '../../../src/connector/offset-partition.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { registeredOnce } from '../../../src/setup/registered-once.ts';
import { SteppedClock, settle } from '../kafka/stepped-clock.ts';

function sourceOf(name: string, prepare?: Source['prepare']): Source {
  const startTask = () => assert.fail('nothing is started');
  return { name, offsetKey: name, startTask, ...(prepare && { prepare }) };
}

test('each source with verified topics is prepared, again after a failure that passes, until the end', async () => {
  const calls: string[] = [];
  const failing = (name: string, code: 'REGISTRY_UNREACHABLE' | 'SCHEMA_INCOMPATIBLE') =>
    sourceOf(name, async () => {
      calls.push(name);
      throw new ConnectorError(code, 'no');
    });
  const sources = [
    failing('away', 'REGISTRY_UNREACHABLE'),
    failing('refused', 'SCHEMA_INCOMPATIBLE'),
    failing('unverified', 'REGISTRY_UNREACHABLE'),
    sourceOf('plain'),
    sourceOf('ready', async () => void calls.push('ready')),
  ];
  const [clock, over] = [new SteppedClock(), new AbortController()];
  const areVerified = ({ name }: Source) => name !== 'unverified';
  prepareSources({ sources, areVerified, clock, random: () => 1, signal: over.signal });
  await settle();
  assert.deepEqual(calls.splice(0).toSorted(), ['away', 'ready', 'refused']);
  await clock.advance(60_000);
  assert.ok(calls.length > 0 && calls.every((name) => name === 'away'), calls.join());
  over.abort();
  await settle();
  assert.equal(clock.sleeping, 0);
});

test('what needs registered schemas is made once for two that ask at once, and reported once', async () => {
  let registered = 0;
  let made = 0;
  const ready = Promise.withResolvers<void>();
  const get = registeredOnce(
    async () => {
      await ready.promise;
      made += 1;
      return made;
    },
    () => {
      registered += 1;
    },
  );
  const { signal } = new AbortController();
  const both = Promise.all([get(signal), get(signal)]);
  ready.resolve();
  assert.deepEqual([await both, await get(signal), registered], [[1, 1], 1, 1]);
});
