import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LedgerFilter } from '../../../src/dev/simulator/ledger/ledger.ts';
import { MINUTE_MS, memoryScene } from '../../support/connectors/memory-scene.ts';
import { filtered } from '../../support/ledgers/universe-on-topics.ts';
import { contents, ledgerEvents, ledgerUniverse } from '../../support/ledgers/universe-reading.ts';

const SOURCES = [
  { name: 'mine', scope: 'my', walkInterval: '20m' },
  {
    name: 'swiss',
    legalCountry: 'CH',
    walkInterval: '20m',
    topics: '{ instruments: swiss, instrument-events: swiss-events }',
  },
  { name: 'new-issues', type: 'events', eventType: 'newissue', topics: '{ instrument-events: new-issues }' },
  { name: 'my-events', type: 'events', scope: 'my', topics: '{ instrument-events: my-events }' },
  { name: 'checks', type: 'pre-trade-checks' },
];

test('sources of every type and filter run side by side, each with exactly its own on topics of its own; one that fails leaves the others alone', async (t) => {
  const scene = await memoryScene(t, { instruments: 300, seed: 4 });
  const { time, simulator } = scene;
  const first = [...simulator.ledger.instruments()][0]?.id ?? '';
  for (let minute = 10; minute < 60; minute++) {
    time.after(minute * MINUTE_MS, () => {
      simulator.change(6);
      if (minute < 30) simulator.triggerCheck(first);
    });
  }
  // From here on, the answers of one source do not map any more.
  let goodChecks = 0;
  time.after(30 * MINUTE_MS, () => {
    goodChecks = [...simulator.ledger.checks()].length;
    const raw = '{"preTradeCheckId":7}';
    for (let made = 0; made < 30; made++) simulator.triggerCheck(first, raw);
  });
  // Some instruments leave without an event: a walk deletes them, once no event of theirs is so recent that a list which
  // lags could lack them. New ones that leave within the hour look like such a lag, and the walks after them wait longer.
  const connector = await scene.live(1200 * MINUTE_MS, SOURCES);
  assert.deepEqual(await connector.ended, []);
  const failed = connector.fieldsOf('sourceFailed');
  const failures = failed.map(({ source, err }) => [source, err.code]);
  assert.deepEqual(failures, [['checks', 'TOO_MANY_DEAD_LETTERS']]);

  const read = async (topic: string) => contents(await scene.read(topic));
  const sorted = (values: Iterable<string>) => [...values].sort();
  for (const [topic, filter] of [
    ['instruments', { mine: true }],
    ['swiss', { legalCountry: 'CH' }],
  ] as const) {
    const held = new Map((await read(topic)).map(({ key, content }) => [key, content]));
    const live = [...held].filter(([, content]) => content !== null);
    const universe = await ledgerUniverse(filtered(simulator, filter));
    assert.ok(universe.size > 0 && universe.size < simulator.size);
    assert.deepEqual(sorted(live.map(String)), sorted([...universe].map(String)), topic);
  }
  const visible = async (filter: LedgerFilter, type?: string) => {
    const inside = filtered(simulator, filter);
    const types = new Map([...inside.ledger.events()].map((event) => [event.offset, event.type]));
    const events = await ledgerEvents(inside);
    return events.filter(({ offset }) => type === undefined || types.get(offset) === type).map(({ event }) => event);
  };
  for (const [topic, due] of [
    ['instrument-events', await visible({ mine: true })],
    ['swiss-events', await visible({ legalCountry: 'CH' })],
    ['new-issues', await visible({}, 'newissue')],
    ['my-events', await visible({ mine: true })],
  ] as const) {
    assert.ok(due.length > 0, topic);
    assert.deepEqual(sorted((await read(topic)).map(({ content }) => String(content))), sorted(due), topic);
  }
  // Of the answer in which some did not map nothing was written, and everything before it was.
  const checks = await scene.read('pre-trade-checks');
  const made = [...simulator.ledger.checks()].slice(0, goodChecks).map(({ preTradeCheckId }) => preTradeCheckId);
  const written = made.slice(0, checks.length);
  assert.ok(checks.length > goodChecks / 2 && checks.length <= goodChecks, `${checks.length} of ${goodChecks}`);
  assert.deepEqual(sorted(checks.map(({ key }) => String(key))), sorted(written));
});
