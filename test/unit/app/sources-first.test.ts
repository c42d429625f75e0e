import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourcesFirst } from '../../../src/app/sources-first.ts';
import type { ConnectorEvents } from '../../../src/observability/connector-events.ts';
import type { Clock } from '../../../src/support/clock.ts';

const POLLED: Parameters<ConnectorEvents['polled']>[0] = {
  source: 'notes',
  endpoint: 'events',
  since: null,
  secondsToRetentionCliff: null,
  rows: 0,
  caughtUp: true,
  durationMs: 1,
};

/** With a clock on which the waits end when the test lets them. */
function started() {
  const reported: string[] = [];
  const record = new Proxy({} as ConnectorEvents, { get: (_, name) => () => reported.push(String(name)) });
  const given = { ...record, polled: record.polled, replicaJoined: record.replicaJoined } as ConnectorEvents;
  const waits: { readonly ms: number; readonly end: () => void; readonly signal: AbortSignal | undefined }[] = [];
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    sleep(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      signal?.addEventListener('abort', () => reject(signal.reason));
      waits.push({ ms, end: resolve, signal });
      return promise;
    },
  };
  const { events, underWay } = sourcesFirst(given, clock);
  let isOver = false;
  const stop = new AbortController();
  const waited = underWay(stop.signal).then(() => {
    isOver = true;
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const isOverNow = () => settled().then(() => isOver);
  return { events, reported, waits, waited, stop, isOverNow };
}

test('the processor waits for the first poll of a source, and leaves no timer behind', async () => {
  const { events, reported, waits, waited, isOverNow } = started();
  events.replicaJoined({ partitions: [0], sources: ['notes'] });
  assert.equal(await isOverNow(), false);
  events.polled(POLLED);
  await waited;
  assert.deepEqual(reported, ['replicaJoined', 'polled']);
  assert.equal(waits[0]?.signal?.aborted, true);
});

test('it does not wait where the sources run elsewhere', async () => {
  const { events, waited } = started();
  events.replicaJoined({ partitions: [], sources: [] });
  await waited;
});

test('it waits for a second and no longer', async () => {
  const { waits, waited, isOverNow } = started();
  assert.equal(await isOverNow(), false);
  assert.equal(waits[0]?.ms, 1_000);
  waits[0]?.end();
  await waited;
});

test('a stop ends the wait', async () => {
  const { waited, stop } = started();
  stop.abort(new Error('stopped'));
  await assert.rejects(waited, { message: 'stopped' });
});
