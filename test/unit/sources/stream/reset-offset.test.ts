import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readResetOffset } from '../../../../src/sources/stream/committed-stream.ts';
import { NOON } from '../core/follower-scene.ts';

const before = { filter: 'scope=my', since: '4-0', dateMs: NOON };

test('of the offset before a reset is reported what it has, whichever version wrote it', () => {
  const serverDate = new Date(NOON).toISOString();
  assert.deepEqual(readResetOffset({ version: 9, filter: 'scope=my', since: '4-0', serverDate }), before);
  const nothing = { filter: null, since: null, dateMs: null };
  assert.deepEqual(readResetOffset({}), nothing);
  assert.deepEqual(readResetOffset({ filter: 7, since: '', serverDate: 'soon' }), nothing);
});
