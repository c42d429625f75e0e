import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { runSourcePartitions, type SourcePartitions } from '../../../src/run/source-partitions.ts';
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
    settings: { prefix: 'p', admin: { enabled: waitsForOperator } },
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
  await eventually(
    'both have failed',
    () => replica.failed.length,
    (count) => count === 2,
  );
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  assert.deepEqual([replica.joins(), replica.failed], [1, ['a', 'b']]);
  replica.restart();
  await eventually(
    'both have failed again',
    () => replica.failed.length,
    (count) => count === 4,
  );
  assert.equal(replica.joins(), 2);
  replica.stop();
  await assert.rejects(replica.ended, /the test stops it/);
});
