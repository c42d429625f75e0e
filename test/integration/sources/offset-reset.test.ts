import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { atInstallation } from '../../../src/run/installation.ts';
import { resetOffset } from '../../../src/run/offsets-operation.ts';
import { requestState } from '../../../src/run/state-operation.ts';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { createMemoryRegistry, startOverridden } from '../../support/connectors/overridden-connector.ts';
import { notificationsOn } from '../../support/ledgers/universe-on-topics.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { createSharedTime } from '../../support/runner/shared-time.ts';

const HOUR_MS = 3_600_000;
const PREFIX = 'reset';
const NOWHERE = { brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:1' };

/** One source, lived with for an hour at a time, and Kafka in memory. */
async function createScene(t: TestContext, name: string, type: 'instruments' | 'events' | 'pre-trade-checks') {
  const time = createSharedTime();
  const simulator = await createSimulator({ instruments: 40, seed: 3, clock: time.provider });
  t.after(() => simulator.close());
  const broker = new MemoryBroker(time.nowMs);
  const kafka = createMemoryCluster({ broker });
  const registry = createMemoryRegistry();
  const overrides = { registry, clock: time.connector, random: () => 0.5 };
  return {
    time,
    simulator,
    /** @returns the codes of the failures that ended sources meanwhile. */
    async live(more: Readonly<Record<string, string>> = {}): Promise<unknown[]> {
      const source = { name, type, ...more };
      const own = { ...overrides, kafka: createMemoryCluster({ broker }) };
      const connector = await startOverridden(t, { simulator, prefix: PREFIX, overrides: own, source });
      time.after(HOUR_MS, () => void connector.stop());
      await connector.ended;
      return connector.seen.flatMap(({ name, fields }) => (name === 'sourceFailed' ? [fields.err.code] : []));
    },
    async reset(): Promise<string | null> {
      const env = connectorEnvironment(NOWHERE, simulator, { TOPIC_PREFIX: PREFIX });
      const settings = await loadSettings({ text: settingsText({ name, type }), env });
      const { signal } = new AbortController();
      const own = { kafka: createMemoryCluster({ broker }), clock: time.connector };
      const { before } = await atInstallation(
        { settings, signal, needs: ['offsets', 'states'], overrides: own },
        async (at) => {
          await requestState(at, name, 'stopped');
          const outcome = await resetOffset(at, { source: { name, type }, execute: true });
          await requestState(at, name, 'running');
          return outcome;
        },
      );
      return before.offset && String(before.offset.since);
    },
    /** What was notified, complete walks left out. */
    async notice() {
      const all = await notificationsOn(kafka, PREFIX);
      return all.filter(({ kind }) => kind !== 'walk-completed');
    },
  };
}

test('after a changed filter and a reset, the first transaction says which events may be missing', async (t) => {
  const { simulator, time, live, reset, notice } = await createScene(t, 'instruments', 'instruments');
  assert.deepEqual(await live(), []);
  assert.deepEqual(await live({ scope: 'my' }), ['FILTER_CHANGED']);
  const [stopped, ...others] = await notice();
  assert.deepEqual([stopped?.kind, stopped?.errorCode, others], ['source-failed', 'FILTER_CHANGED', []]);
  assert.match(String(stopped?.message), /"scope=my".*"scope=all"/);
  const since = await reset();
  time.pass(HOUR_MS);
  const id = [...simulator.ledger.instruments()][0]?.id ?? '';
  simulator.publish({ kind: 'datachange', id });
  assert.deepEqual(await live({ scope: 'my' }), []);
  // It is reported once, however often the source starts after it.
  assert.deepEqual(await live({ scope: 'my' }), []);
  const [, reported, ...more] = await notice();
  // Most of what the topic holds is outside the new filter, which an operator has to confirm.
  assert.deepEqual(
    more.map(({ kind }) => kind),
    ['shrink-refused'],
  );
  const { source, kind, filterFrom, filterTo, gapSinceFrom, gapSinceTo, message } = reported ?? {};
  assert.deepEqual([source, kind, gapSinceFrom], ['instruments', 'filter-changed', since]);
  assert.deepEqual([filterFrom, filterTo], ['scope=all', 'scope=my']);
  assert.equal(gapSinceTo, [...simulator.ledger.events()].at(-1)?.offset);
  assert.match(String(message), /another filter than before.*walk/);
});

test('a reset that leaves the filter is reported too, with what comes of it for this kind of source', async (t) => {
  for (const [type, lost] of [
    ['events', /nothing mends them/],
    ['pre-trade-checks', /no longer serves/],
  ] as const) {
    const { simulator, live, reset, notice } = await createScene(t, 'followed', type);
    const id = [...simulator.ledger.instruments()][0]?.id ?? '';
    simulator.triggerCheck(id);
    assert.deepEqual(await live(), []);
    const since = await reset();
    assert.ok(since);
    assert.deepEqual(await live(), []);
    assert.deepEqual(await live(), []);
    const [reported, ...more] = await notice();
    assert.deepEqual(more, []);
    assert.deepEqual([reported?.kind, reported?.gapSinceFrom], ['offset-reset', since]);
    assert.equal(reported?.gapSinceTo, type === 'events' ? since : null);
    assert.match(String(reported?.lost), lost);
  }
});
