import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { offsetKey, offsetPartition } from '../../../src/kafka/offset-store.ts';
import { OFFSETS_PARTITIONS } from '../../../src/kafka/topic-plan.ts';
import { toAll } from '../../../src/observe/event-table.ts';
import { runSourcePartitions, type SourcePartitions } from '../../../src/run/source-partitions.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { operator } from '../../support/connectors/operator.ts';
import { recordedEvents } from '../../support/ledgers/recorded-events.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createUnwatchedCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

/** Sources of a group that refuses its members as often as it is joined. */
function refusedReplica({ waitsForOperator }: { readonly waitsForOperator: boolean }) {
  let [joins, restarts] = [0, 0];
  let change = new AbortController();
  const failed: string[] = [];
  const stop = new AbortController();
  const refusal = new ConnectorError('WRITER_REFUSED', 'no right on the group');
  const target = () => {
    return { state: 'running', restartEpoch: restarts, failedRestartEpoch: restarts, changed: change.signal } as const;
  };
  const parts = {
    settings: { prefix: 'p', sources: [], admin: { enabled: waitsForOperator } },
    sources: ['a', 'b'].map((name) => ({
      name,
      offsetKey: `["${name}",{"endpoint":"events"}]`,
    })),
    states: { targets: { of: target } },
    topics: { offsets: { name: 'p.offsets' }, notifications: { name: 'p.notifications', partitions: 1 } },
    kafka: {
      groupReader: {
        async run() {
          joins += 1;
          throw refusal;
        },
      },
    },
    registry: { schemaId: () => Promise.reject(refusal) },
    verified: { areVerified: (topics: readonly string[]) => !topics.includes('wrong topic of b') },
    writtenBy: ([name]: readonly string[]) => [name === 'b' ? 'wrong topic of b' : 'right topic'],
    clock: skippingClock(),
    random: () => 0.5,
    events: { sourceFailed: ({ source }: { readonly source: string }) => failed.push(source) },
    signal: stop.signal,
  };
  return {
    ended: runSourcePartitions(parts as unknown as SourcePartitions),
    joins: () => joins,
    failed,
    restart() {
      restarts += 1;
      change.abort();
      change = new AbortController();
    },
    stop: () => stop.abort(new Error('the test stops it')),
  };
}

test('a group that may not be joined is asked once, and fails every source; an operator has it joined again', async () => {
  const replica = refusedReplica({ waitsForOperator: true });
  const failures = () => replica.failed.length;
  await eventually('both have failed', failures, (count) => count === 2);
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  assert.deepEqual([replica.joins(), replica.failed], [1, ['a', 'b']]);
  replica.restart();
  await eventually('both have failed again', failures, (count) => count === 4);
  assert.equal(replica.joins(), 2);
  replica.stop();
  await assert.rejects(replica.ended, /the test stops it/);
});

const OFFSETS = 'p.offsets';
const SOURCES = ['a', 'b']
  .map((name) => ({ name, offsetKey: offsetKey(name, 'counting') }))
  .toSorted((x, y) => offsetPartition(x.offsetKey) - offsetPartition(y.offsetKey));
const FAILURE = new ConnectorError('WALK_CURSOR_REPEATED', 'the list has no end');

/** A replica with both sources, each of which runs until it is made to fail. */
function replica(broker: MemoryBroker) {
  const fail = new Map<string, () => void>();
  const stop = new AbortController();
  let outcome: readonly string[] | null = null;
  let replicas = 0;
  const poll = (name: string, signal: AbortSignal) => {
    const { promise, reject } = Promise.withResolvers<never>();
    fail.set(name, () => reject(FAILURE));
    signal.addEventListener('abort', () => fail.delete(name));
    return untilAborted(promise, signal);
  };
  const parts = {
    settings: { prefix: 'p', sources: [], admin: { enabled: false } },
    sources: SOURCES.map((source) => ({
      ...source,
      startTask: () => ({ poll: (signal: AbortSignal) => poll(source.name, signal) }),
    })),
    states: { targets: operator(SOURCES.map(({ name }) => name)).targets, async catchUp() {} },
    topics: { offsets: { name: OFFSETS }, notifications: { name: 'p.notifications', partitions: 1 } },
    kafka: createUnwatchedCluster({ broker }),
    http: {
      share(count: number) {
        replicas = count;
      },
    },
    registry: { schemaId: () => Promise.reject(FAILURE) },
    verified: { areVerified: () => true },
    writtenBy: () => [],
    clock: skippingClock(),
    random: () => 0.5,
    events: toAll([recordedEvents().events]),
    signal: stop.signal,
  };
  runSourcePartitions(parts as unknown as SourcePartitions).then(
    (names) => {
      outcome = names;
    },
    () => {},
  );
  return { fail, stop: () => stop.abort(new Error('enough')), outcome: () => outcome, replicas: () => replicas };
}

const quiet = async () => {
  for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
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
