import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gapInput, namesLower, type OffsetKnown } from '../../../../src/connector/stream/gap-input.ts';
import { readStreamResponse } from '../../../../src/connector/stream/stream-response.ts';

const HOUR_MS = 3_600_000;
const OURS = '5-5';
const YOUNG: OffsetKnown = { isSuspected: false, isOver: false, ageMs: HOUR_MS, isNoReset: false };
const OLD = { ...YOUNG, ageMs: 6 * HOUR_MS };
const SUSPECTED = { ...YOUNG, isSuspected: true };
const OVER = { ...SUSPECTED, isOver: true };

/** What an answer to our offset says: where it goes on, and the newest offset that it names. */
function says(
  known: OffsetKnown,
  answer: 'refused' | { next: string; nextId?: string; events?: number },
  held?: string,
) {
  const offset = { since: OURS, held: held === undefined ? null : { since: held } };
  if (answer === 'refused') return gapInput('refused', offset, null, known);
  const { next, nextId = null, events = 0 } = answer;
  return gapInput(readStreamResponse(OURS, { next, nextId }, events), offset, { next, nextId }, known);
}

const QUIET = { next: OURS };
const healthy = { kind: 'healthy' };
const sign = (of: string) => ({ kind: 'sign', sign: of });

test('an offset that moves on is well, whatever is suspected, and whatever else the response names', () => {
  for (const known of [YOUNG, OLD, OVER]) assert.deepEqual(says(known, { next: '6-1', nextId: '1-1' }), healthy);
});

test('a refusal, events at the same place and a lower place speak against it, however young it is', () => {
  assert.deepEqual(says(YOUNG, 'refused'), sign('refused'));
  assert.deepEqual(says(YOUNG, { next: OURS, events: 3 }), sign('stuck'));
  assert.deepEqual(says(YOUNG, { next: '4-1' }), sign('lower'));
});

test('an empty response says nothing against a young offset, and after hours that a fresh one is better', () => {
  assert.deepEqual(says(YOUNG, QUIET), healthy);
  assert.deepEqual(says(OLD, QUIET), { ...sign('unmoved'), isSuspected: false });
  assert.deepEqual(says(SUSPECTED, QUIET), { ...sign('unmoved'), isSuspected: true });
});

test('an empty response speaks against an offset that has not moved for longer than events are kept, by all clocks', () => {
  assert.deepEqual(says(OVER, QUIET), sign('quiet'));
  assert.deepEqual(says(OVER, QUIET, '9-9'), sign('quiet'));
});

test('beside an offset that is held, an empty response means that this one may have events; never one from before ours', () => {
  assert.deepEqual(says(OLD, QUIET, '9-9'), { ...sign('overtaken'), held: '9-9', isSuspected: false });
  for (const held of ['4-1', 'no order']) assert.deepEqual(says(OLD, QUIET, held), healthy);
});

test('a newest offset below ours is the sign of a reset, unless the stream was not reset lately', () => {
  const answer = { next: OURS, nextId: '2-2' };
  assert.deepEqual(says(YOUNG, answer), sign('lower'));
  assert.deepEqual(says({ ...YOUNG, isNoReset: true }, answer), healthy);
  assert.deepEqual(says({ ...YOUNG, isNoReset: true }, { next: '4-1' }), sign('lower'), 'it would take us back');
  assert.deepEqual(says({ ...OVER, isNoReset: true }, { next: '4-1' }), sign('quiet'), 'its lowest, for what it lost');
});

test('only a response that does not move on names a lower offset', () => {
  const lower = { next: '6-1', nextId: '1-1' };
  assert.equal(namesLower('moved', OURS, lower), false);
  assert.equal(namesLower('quiet', OURS, { ...lower, next: OURS }), true);
  assert.equal(namesLower('refused', OURS, null), false);
});
