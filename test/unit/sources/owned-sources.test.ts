import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offsetKey, offsetPartition } from '../../../src/kafka/offset-store.ts';
import { OFFSETS_PARTITIONS } from '../../../src/kafka/topic-plan.ts';
import { type OwnedSources, runOwnedSources } from '../../../src/sources/owned-sources.ts';
import { recordedEvents } from '../../support/ledgers/recorded-events.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryGroupReader } from '../../support/memory-kafka/memory-group-reader.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

const OFFSETS = 'p.offsets';
const SOURCES = ['a', 'b']
  .map((name) => ({ name, offsetKey: offsetKey(name, 'counting') }))
  .toSorted((x, y) => offsetPartition(x.offsetKey) - offsetPartition(y.offsetKey));

/** A replica with both sources; the process that runs one of them reports when it has failed. */
function replica(broker: MemoryBroker) {
  const fail = new Map<string, () => void>();
  const stop = new AbortController();
  let outcome: readonly string[] | null = null;
  let replicas = 0;
  const run = ({ sources, signal }: OwnedSources<(typeof SOURCES)[number]>) =>
    new Promise<readonly string[]>((resolve, reject) => {
      const names = sources.map(({ name }) => name);
      for (const name of names) fail.set(name, () => resolve(names));
      signal.addEventListener('abort', () => {
        for (const name of names) fail.delete(name);
        reject(signal.reason);
      });
    });
  const ended = runOwnedSources({
    sources: SOURCES,
    groupReader: createMemoryGroupReader(broker),
    groupId: 'g',
    replicas(count) {
      replicas = count;
    },
    offsetsTopic: OFFSETS,
    run,
    clock: skippingClock(),
    random: () => 0.5,
    events: recordedEvents().events,
    signal: stop.signal,
  });
  ended.then(
    (names) => {
      outcome = names;
    },
    () => {},
  );
  return { fail, stop: () => stop.abort(new Error('enough')), outcome: () => outcome, replicas: () => replicas };
}

const quiet = async () => {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
};

test('a replica ends when all sources have failed here, and not over one that failed here and runs elsewhere by now', async () => {
  const broker = new MemoryBroker(() => 0);
  broker.createTopic({ name: OFFSETS, partitions: OFFSETS_PARTITIONS, replicationFactor: 1, settings: {} });
  const [moved, kept] = SOURCES.map(({ name }) => name);
  assert.ok(moved !== undefined && kept !== undefined);
  const first = replica(broker);
  await quiet();
  assert.deepEqual([...first.fail.keys()].sort(), ['a', 'b']);
  assert.equal(first.replicas(), 1);
  first.fail.get(moved)?.();
  await quiet();
  const second = replica(broker);
  await quiet();
  assert.deepEqual([[...first.fail.keys()], [...second.fail.keys()]], [[kept], [moved]]);
  assert.deepEqual([first.replicas(), second.replicas()], [2, 2]);
  first.fail.get(kept)?.();
  await quiet();
  assert.equal(first.outcome(), null);
  second.stop();
  await quiet();
  assert.equal(first.replicas(), 1);
  first.fail.get(moved)?.();
  await quiet();
  assert.deepEqual([...(first.outcome() ?? [])].sort(), ['a', 'b']);
});
