import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import { assertUsable } from '../../../src/run/offsets-operation.ts';
import { writeFollowerOffset } from '../../../src/sources/stream/committed-stream.ts';
import { firstOffset, writeInstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';

const { sources } = await loadSettings({
  text: `
prefix: p
referenceData: { url: "https://provider.example/", auth: { type: none } }
kafka: { brokers: "kafka:9092" }
schemaRegistry: { url: "https://registry.example/" }
sources:
  - { name: a, type: instruments }
  - { name: b, type: events, legalCountry: CH, eventType: newissue, topics: { instrument-events: b } }
  - { name: c, type: pre-trade-checks }
`,
  env: {},
});
const time = { dateMs: 0, from: 'provider', ownMs: 0 } as const;
const follower = (filter: string, since: string | null) =>
  writeFollowerOffset({
    filter,
    since,
    serverDate: time,
    standingMs: 0,
    standingLeastMs: 0,
    gapSuspectedFromMs: null,
    held: null,
    again: null,
    gapsHealedAtMs: [],
  });

function source(name: string) {
  const found = sources.find((one) => one.name === name);
  assert.ok(found);
  return found;
}

test('an offset as the source itself writes it is usable', () => {
  assertUsable(source('a'), writeInstrumentsOffset(firstOffset('scope=all', '5-0', time, null)));
  assertUsable(source('c'), follower('all', 'any-text'));
  assertUsable(source('c'), follower('all', null));
});

test('one that its source could not go on from is refused, with what is wrong', () => {
  const given = writeInstrumentsOffset(firstOffset('scope=all', '5-0', time, null));
  assert.throws(() => assertUsable(source('a'), { since: '5-0' }), { code: 'OFFSET_UNREADABLE', message: /version/ });
  assert.throws(() => assertUsable(source('a'), { ...given, serverDate: 'soon' }), { code: 'OFFSET_UNREADABLE' });
  assert.throws(() => assertUsable(source('a'), { ...given, filter: 'scope=mine' }), { code: 'FILTER_CHANGED' });
  assert.throws(() => assertUsable(source('a'), { ...given, since: 'x' }), {
    code: 'OFFSET_NOT_FOUND',
    message: /<digits>-<digits>/,
  });
  assert.throws(() => assertUsable(source('b'), follower('scope=all', '5-0')), { code: 'FILTER_CHANGED' });
  assert.throws(() => assertUsable(source('c'), follower('all', 'https://elsewhere.example/')), {
    code: 'OFFSET_NOT_FOUND',
  });
});
