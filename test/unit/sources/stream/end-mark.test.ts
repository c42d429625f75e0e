import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEndSeen, markAt, markFurther } from '../../../../src/sources/stream/end-mark.ts';
import { drive, event, time } from '../core/driven-core.ts';
import { CHECKS, offsetAt, Scene } from '../core/follower-scene.ts';

const MINUTE_MS = 60_000;

test('pre-trade checks have no list that could say where their stream ends: nothing is asked for', () => {
  const scene = new Scene(CHECKS, offsetAt(CHECKS, '1000-1'));
  for (let newest = 1_001; newest < 1_300; newest++) {
    const next = `${newest}-1`;
    scene.pass(1_000).take({ items: 1, next, nextId: next });
    assert.notEqual(scene.next().kind, 'start');
    assert.equal(scene.core.isCaughtUp, false);
  }
});

test('what a list that takes long has shown counts from when it was asked', () => {
  const driven = drive({ since: '1000-1' });
  let newest = 1_000;
  const readUntil = (ms: number) => {
    while (driven.ms < ms) {
      driven.ms += 1_000;
      newest += 1;
      const next = `${newest}-1`;
      driven.answer({ kind: 'stream', events: [event(1)], next, nextId: next, time: time(driven.ms) });
    }
  };
  readUntil(70_000);
  assert.equal(driven.next().kind, 'start');
  const [askedMs, since] = [driven.ms, `${newest + 10}-1`];
  readUntil(askedMs + 50_000);
  driven.answer({ kind: 'start', since, time: time(driven.ms), askedMs });
  readUntil(askedMs + 2 * MINUTE_MS);
  assert.equal(driven.core.isCaughtUp, true);
  readUntil(askedMs + 2 * MINUTE_MS + 2_000);
  assert.equal(driven.core.isCaughtUp, false);
});

test('a fresh start that shows a lag takes back at once what an earlier one has shown', () => {
  const begun = markFurther(null, '1000-1', 0);
  const asked = markAt(begun, { since: '1500-1', ours: '1400-1', askedMs: MINUTE_MS });
  const reached = markFurther(asked, '1500-1', MINUTE_MS + 1_000);
  assert.equal(isEndSeen(reached, 2 * MINUTE_MS), true);
  const lagging = markAt(reached, { since: '1300-1', ours: '1900-1', askedMs: 2 * MINUTE_MS });
  assert.equal(isEndSeen(lagging, 2 * MINUTE_MS), false);
});
