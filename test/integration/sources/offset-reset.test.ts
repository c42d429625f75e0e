import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import { atInstallation } from '../../../src/run/installation.ts';
import { resetOffset } from '../../../src/run/offsets-operation.ts';
import { requestState } from '../../../src/run/state-operation.ts';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { HOUR_MS, memoryScene, PREFIX } from '../../support/connectors/memory-scene.ts';
import { NOWHERE } from '../../support/connectors/running-connector.ts';
import { notificationsOn } from '../../support/ledgers/universe-on-topics.ts';

/** One source, lived with for an hour at a time, and Kafka in memory. */
async function createScene(t: TestContext, name: string, type: 'instruments' | 'events' | 'pre-trade-checks') {
  const scene = await memoryScene(t, { instruments: 40, seed: 3 });
  const { simulator, overrides, kafka } = scene;
  return {
    ...scene,
    /** @returns the codes of the failures that ended sources meanwhile. */
    async live(more: Readonly<Record<string, string>> = {}): Promise<unknown[]> {
      const connector = await scene.live(HOUR_MS, { name, type, ...more });
      return connector.fieldsOf('sourceFailed').map(({ err }) => err.code);
    },
    async reset(): Promise<string | null> {
      const env = connectorEnvironment(NOWHERE, simulator, { TOPIC_PREFIX: PREFIX });
      const settings = await loadSettings({ text: settingsText({ name, type }), env });
      const { signal } = new AbortController();
      const { before } = await atInstallation(
        { settings, signal, needs: ['offsets', 'states'], overrides: overrides() },
        async (at) => {
          await requestState(at, name, 'stopped');
          const outcome = await resetOffset(at, { source: { name, type }, execute: true });
          await requestState(at, name, 'running');
          return outcome;
        },
      );
      return before.offset && String(before.offset.since);
    },
    /** Every notification but those of complete walks. */
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
  const kinds = more.map(({ kind }) => kind);
  assert.deepEqual(kinds, ['shrink-refused']);
  const { source, kind, filterFrom, filterTo, gapSinceFrom, gapSinceTo, message } = reported ?? {};
  assert.deepEqual([source, kind, gapSinceFrom], ['instruments', 'filter-changed', since]);
  assert.deepEqual([filterFrom, filterTo], ['scope=all', 'scope=my']);
  assert.equal(gapSinceTo, [...simulator.ledger.events()].at(-1)?.offset);
  assert.match(String(message), /another filter than before.*walk/);
});

test('a reset that leaves the filter is reported too, with what comes of it for this kind of source', async (t) => {
  for (const [type, lost] of [
    ['events', /no source restores them/],
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
