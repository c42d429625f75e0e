import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FollowerOffset,
  readFollowerOffset,
  readResetOffset,
  writeFollowerOffset,
} from '../../../../src/sources/stream/committed-stream.ts';
import { CHECKS, DAY_MS, EVENTS, NOON, offsetAt, POLL_MS, Scene } from '../core/follower-scene.ts';

test('an events source begins at the start that it is given, and commits it before it asks for events', () => {
  const scene = new Scene(EVENTS, null);
  assert.deepEqual(scene.next(), { kind: 'start' });
  const { offset, writes } = scene.answer({ kind: 'start', since: '5-0' });
  assert.deepEqual([offset?.since, writes], ['5-0', false]);
  assert.deepEqual(scene.next(), { kind: 'start' }, 'nothing has changed before the commit');
  scene.take({ kind: 'start', since: '5-0' });
  assert.deepEqual(scene.next(), { kind: 'stream', since: '5-0' });
});

test('pre-trade checks begin without an offset, and the first one is committed at once, checks or not', () => {
  const scene = new Scene(CHECKS, null);
  assert.deepEqual(scene.next(), { kind: 'stream', since: null });
  const { offset, writes } = scene.take({ next: 'abc' });
  assert.deepEqual([offset?.since, writes], ['abc', false]);
  assert.equal(scene.next().kind, 'wait');
  scene.pass(POLL_MS);
  assert.deepEqual(scene.next(), { kind: 'stream', since: 'abc' });
});

test('the core moves on with the commit and not before', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  const first = scene.answer({ items: 2, next: '6-0' });
  assert.deepEqual([first.writes, first.offset?.since], [true, '6-0']);
  assert.deepEqual(scene.next(), { kind: 'stream', since: '5-0' });
  first.committed();
  assert.equal(scene.core.offset?.since, '6-0');
  assert.throws(() => first.committed(), /committed twice/);
});

test('it asks again at once while there is more or it does not know, and waits when there is not', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  scene.take({ items: 15, next: '6-0', nextId: '6-0' });
  assert.equal(scene.core.isCaughtUp, false, 'the newest offset may be that of the answer only');
  assert.equal(scene.next().kind, 'stream');
  scene.take({ items: 3, next: '7-0', nextId: '8-0' });
  assert.equal(scene.next().kind, 'stream');
  scene.take({ items: 0, next: '8-0', nextId: '8-0' });
  assert.deepEqual(scene.next(), { kind: 'wait', ms: POLL_MS });
});

test('empty answers commit only every emptyCommitInterval, the moved cursor with them', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  assert.equal(scene.take({ next: '6-0' }).offset, null);
  assert.equal(scene.core.offset?.since, '6-0');
  scene.pass(30_000);
  assert.equal(scene.take({ next: '7-0' }).offset, null);
  scene.pass(30_000);
  const decision = scene.take({ next: '7-0' });
  assert.deepEqual([decision.offset?.since, decision.offset?.serverDate.dateMs], ['7-0', scene.dateMs]);
  assert.equal(decision.writes, false);
  assert.equal(scene.pass(30_000).take({ next: '7-0' }).offset, null, 'the time counts from the last commit');
  assert.notEqual(scene.pass(30_000).take({ next: '7-0' }).offset, null);
});

test('many short lives in a row do not add up to an offset that nobody commits', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'), NOON + 60_000);
  assert.equal(scene.take({ next: '5-0' }).offset?.serverDate.dateMs, NOON + 60_000);
});

test('events with the same cursor, and a lower cursor, are discarded and asked again soon', () => {
  for (const [given, why] of [
    [{ items: 3, next: '5-0' }, 'stuck'],
    [{ items: 3, next: '4-9' }, 'lower'],
  ] as const) {
    const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
    const decision = scene.take(given);
    assert.deepEqual([decision.discarded, decision.writes, decision.offset], [why, false, null]);
    assert.equal(scene.core.offset?.since, '5-0');
  }
});

test('cursors of checks are compared for equality only, whatever they look like', () => {
  const scene = new Scene(CHECKS, offsetAt(CHECKS, '5-0'));
  const lower = scene.take({ items: 1, next: '4-0', nextId: '9-0' });
  assert.deepEqual([lower.writes, lower.discarded, lower.offset?.since], [true, null, '4-0']);
  scene.take({ items: 1, next: 'Zm9v+/==', nextId: '1-0' });
  assert.equal(scene.core.offset?.since, 'Zm9v+/==');
  assert.equal(scene.take({ items: 1, next: 'Zm9v+/==' }).discarded, 'stuck');
});

test('a status that says nothing about an offset, and an answer that nobody asked for, are bugs', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  assert.throws(() => scene.answer({ kind: 'refused', status: 403 }), /says nothing about an offset/);
  assert.throws(() => new Scene(EVENTS, null).answer({ next: '5-0' }), /without an offset was given stream/);
  const checks = new Scene(CHECKS, null);
  assert.throws(() => checks.answer({ kind: 'start', since: 'a' }), /without an offset was given start/);
  assert.throws(() => new Scene(CHECKS, offsetAt(CHECKS, null)).answer({ kind: 'refused' }), /says nothing/);
});

test('the seconds until events are dropped go by the last answer', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  assert.equal(scene.core.secondsToRetentionCliff(scene.nowMs, NOON + DAY_MS), 6 * 86_400);
  scene.take({ next: '5-0' });
  assert.equal(scene.core.secondsToRetentionCliff(scene.nowMs + 1_000, 0), 7 * 86_400 - 1);
  assert.equal(new Scene(EVENTS, null).core.secondsToRetentionCliff(0, 0), null);
});

test('while the list may not be asked, neither a proof nor a mark of the end asks it, and the stream goes on', () => {
  const HOUR_MS = 3_600_000;
  for (const [items, next, renewsMs] of [
    [0, '5-0', 6 * HOUR_MS],
    [1, '6-0', 60_000],
  ] as const) {
    const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
    scene.take({ items, next });
    scene.pass(renewsMs).take({ items, next: next === '5-0' ? next : '7-0' });
    assert.equal(scene.next().kind, 'start');
    assert.notEqual(scene.core.next(scene.nowMs, scene.nowMs + HOUR_MS).kind, 'start');
    scene.pass(POLL_MS);
    assert.equal(scene.core.next(scene.nowMs, scene.nowMs + HOUR_MS).kind, 'stream');
  }
});

const before = { filter: 'scope=my', since: '4-0', dateMs: NOON };

test('of the offset before a reset is reported what it has, whichever version wrote it', () => {
  const serverDate = new Date(NOON).toISOString();
  assert.deepEqual(readResetOffset({ version: 9, filter: 'scope=my', since: '4-0', serverDate }), before);
  const nothing = { filter: null, since: null, dateMs: null };
  assert.deepEqual(readResetOffset({}), nothing);
  assert.deepEqual(readResetOffset({ filter: 7, since: '', serverDate: 'soon' }), nothing);
});

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
  const refused = { name: 'ConnectorError', code: 'FILTER_CHANGED', message: /new-issues/ };
  assert.throws(() => readFollowerOffset(raw, { ...expected, filter: 'scope=my' }), refused);
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
    const written = { ...writeFollowerOffset(OFFSET), ...change };
    const refused = { name: 'ConnectorError', code: 'OFFSET_UNREADABLE' };
    assert.throws(() => readFollowerOffset(written, expected), refused);
  });
}
