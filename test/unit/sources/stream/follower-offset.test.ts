import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import {
  type FollowerOffset,
  readFollowerOffset,
  writeFollowerOffset,
} from '../../../../src/sources/stream/committed-stream.ts';

const OFFSET: FollowerOffset = {
  filter: 'scope=my eventType=newissue',
  since: '1700000000000-3',
  serverDate: {
    dateMs: Date.parse('2026-01-01T12:00:00.250Z'),
    from: 'provider',
    ownMs: Date.parse('2026-01-01T12:00:01Z'),
  },
  standingMs: 90_000,
  standingLeastMs: 90_000,
  gapSuspectedFromMs: Date.parse('2025-12-24T00:00:00Z'),
  held: { since: '1700000009000-1', heldMs: 3_600_000 },
  again: { since: '1700000009000-1', fromMs: Date.parse('2026-01-01T03:00:00Z') },
  gapsHealedAtMs: [Date.parse('2026-01-01T01:00:00Z'), Date.parse('2026-01-01T02:00:00Z')],
};
const expected = { source: 'new-issues', filter: OFFSET.filter, mayLackSince: false };

test('what is written is read again, and is a flat map in a fixed order', () => {
  const raw = writeFollowerOffset(OFFSET);
  assert.equal(
    JSON.stringify(raw),
    '{"version":1,"filter":"scope=my eventType=newissue","since":"1700000000000-3",' +
      '"serverDate":"2026-01-01T12:00:00.250Z","serverDateFrom":"provider","ownDate":"2026-01-01T12:00:01.000Z",' +
      '"standingMs":90000,"standingLeastMs":90000,' +
      '"gapSuspectedFrom":"2025-12-24T00:00:00.000Z","heldSince":"1700000009000-1","heldMs":3600000,' +
      '"againUpTo":"1700000009000-1","againFrom":"2026-01-01T03:00:00.000Z",' +
      '"gapsHealedAt":"2026-01-01T01:00:00.000Z 2026-01-01T02:00:00.000Z"}',
  );
  assert.deepEqual(readFollowerOffset(JSON.parse(JSON.stringify(raw)), expected), OFFSET);
  const plain = { ...OFFSET, since: null, gapSuspectedFromMs: null, held: null, again: null, gapsHealedAtMs: [] };
  assert.deepEqual(readFollowerOffset(writeFollowerOffset(plain), { ...expected, mayLackSince: true }), plain);
});

test('an offset from before our own clock was kept is read as if both clocks had agreed', () => {
  const { ownDate: _, standingMs: __, ...before } = writeFollowerOffset(OFFSET);
  const read = readFollowerOffset(before, expected);
  assert.deepEqual([read.serverDate.ownMs, read.standingMs], [OFFSET.serverDate.dateMs, 0]);
});

test('an offset of another filter stops the source', () => {
  const raw = writeFollowerOffset(OFFSET);
  assert.throws(
    () => readFollowerOffset(raw, { ...expected, filter: 'scope=my' }),
    (error) => error instanceof ConnectorError && error.code === 'FILTER_CHANGED' && /new-issues/.test(error.message),
  );
});

for (const [what, change] of Object.entries({
  'another version': { version: 2 },
  'no version': { version: null },
  'no filter': { filter: null },
  'no since': { since: null },
  'an empty since': { since: '' },
  'a since that is a number': { since: 5 },
  'no date': { serverDate: null },
  'a date that is none': { serverDate: 'soon' },
  'an own date that is none': { ownDate: 'soon' },
  'a negative standingMs': { standingMs: -1 },
  'a suspicion that is none': { gapSuspectedFrom: 'soon' },
  'healed gaps that are none': { gapsHealedAt: '2026-01-01T01:00:00Z x' },
})) {
  test(`an offset with ${what} is unreadable`, () => {
    assert.throws(
      () => readFollowerOffset({ ...writeFollowerOffset(OFFSET), ...change }, expected),
      (error) => error instanceof ConnectorError && error.code === 'OFFSET_UNREADABLE',
    );
  });
}
