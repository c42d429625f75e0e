import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import { atInstallation } from '../../../src/run/installation.ts';
import { resetOffset } from '../../../src/run/offsets-operation.ts';
import { requestState } from '../../../src/run/state-operation.ts';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { HOUR_MS, MINUTE_MS, memoryScene, PREFIX } from '../../support/connectors/memory-scene.ts';
import { NOWHERE } from '../../support/connectors/running-connector.ts';
import { filtered, notificationsOn } from '../../support/ledgers/universe-on-topics.ts';
import { contents, ledgerUniverse } from '../../support/ledgers/universe-reading.ts';

/** One source, lived with for an hour at a time, and Kafka in memory. */
async function createScene(t: TestContext, name: string, type: 'instruments' | 'events' | 'pre-trade-checks') {
  const scene = await memoryScene(t, { instruments: 40, seed: 3 });
  const { simulator, overrides, kafka } = scene;
  return {
    ...scene,
    /** @returns the codes of the failures that ended sources meanwhile. */
    async live(more: Readonly<Record<string, string>> = {}, forMs = HOUR_MS): Promise<unknown[]> {
      const connector = await scene.live(forMs, { name, type, ...more });
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

test('events from before a reset show no lag of the list, although a restart follows', async (t) => {
  const { simulator, live, reset, notice, read } = await createScene(t, 'instruments', 'instruments');
  const swiss = { legalCountry: 'CH', maxShrink: '1', walkInterval: '10m' };
  await live({}, 10 * MINUTE_MS);
  const [id = ''] = [...simulator.ledger.instruments({ legalCountry: 'CH' })].map((row) => row.id);
  simulator.publish({ kind: 'datachange', id });
  for (let count = 0; count < 10; count++) simulator.publish({ kind: 'newissue' });
  await live({}, 10 * MINUTE_MS);
  await reset();
  // The source loses this event: only the list shows the change.
  simulator.publish({ kind: 'datachange', id });
  await live(swiss, 10_000);
  await live(swiss, 25 * MINUTE_MS);
  assert.deepEqual(
    (await notice()).map(({ kind }) => kind),
    ['filter-changed'],
  );
  const newest = new Map(contents(await read('instruments')).map(({ key, content }) => [key, content]));
  const held = [...newest].filter(([, content]) => content !== null).sort();
  assert.deepEqual(held, [...(await ledgerUniverse(filtered(simulator, { legalCountry: 'CH' })))].sort());
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
