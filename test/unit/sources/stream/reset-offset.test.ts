import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readResetOffset } from '../../../../src/sources/stream/committed-stream.ts';
import { drive, SETTINGS, time } from '../core/driven-core.ts';
import { CHECKS, EVENTS, NOON, provider, Scene } from '../core/follower-scene.ts';

const before = { filter: 'scope=my', since: '4-0', dateMs: NOON };

test('of the offset before a reset is reported what it has, whichever version wrote it', () => {
  const serverDate = new Date(NOON).toISOString();
  assert.deepEqual(readResetOffset({ version: 9, filter: 'scope=my', since: '4-0', serverDate }), before);
  const nothing = { filter: null, since: null, dateMs: null };
  assert.deepEqual(readResetOffset({}), nothing);
  assert.deepEqual(readResetOffset({ filter: 7, since: '', serverDate: 'soon' }), nothing);
});

test('the first transaction after a reset reports it, and no later one', () => {
  const source = drive(null, {}, before);
  const first = source.answer({ kind: 'start', since: '5-5', time: time(0) });
  const reported = { kind: 'offsetReset', before, filter: SETTINGS.filter, to: time(0), goesOnAfter: '5-5' };
  assert.deepEqual(first.notifications, [reported]);
  assert.deepEqual(source.stream().notifications, []);
});

test('a source that follows one stream reports it with its first offset', () => {
  const events = new Scene(EVENTS, null, NOON, before);
  const reported = { kind: 'offsetReset', before, filter: EVENTS.filter, to: provider(NOON) };
  assert.deepEqual(events.take({ kind: 'start', since: '5-5' }).notifications, [{ ...reported, goesOnAfter: '5-5' }]);
  assert.deepEqual(events.take({ next: '5-5' }).notifications, []);

  const checks = new Scene(CHECKS, null, NOON, before);
  const { offset, notifications } = checks.take({ next: 'abc' });
  assert.deepEqual(
    [offset?.since, notifications],
    ['abc', [{ ...reported, filter: CHECKS.filter, goesOnAfter: null }]],
  );
  assert.deepEqual(checks.take({ next: 'abc' }).notifications, []);
});
