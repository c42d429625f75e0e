import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, EVENTS, liveOn, NOON, offsetAt, Scene } from './follower-scene.ts';

const HOUR_MS = 3_600_000;

// Of an offset that has expired, or of an empty answer, some name their lowest offset.
for (const [what, stream] of Object.entries({
  'an empty answer names a newest offset before ours': { next: '5-0', nextId: '0-0' },
  'an empty answer leads back before ours': { next: '0-0', nextId: '0-0' },
})) {
  test(`${what}, and a fresh start does not: what has expired is given up in minutes, and reported`, () => {
    const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'), NOON + 8 * DAY_MS);
    const startedMs = scene.nowMs;
    scene.take(stream);
    const reported = liveOn(scene, DAY_MS, { stream, verifyItems: 0 });
    assert.deepEqual(reported?.notifications.at(-1)?.kind, 'gapProven');
    assert.equal(reported?.offset?.since, '80-0');
    assert.ok(scene.nowMs - startedMs < HOUR_MS);
  });
}

test('an offset that stands still is replaced also where empty answers name one before it', () => {
  const stream = { next: '5-0', nextId: '0-0' };
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  assert.equal(liveOn(scene, HOUR_MS, { stream, verifyItems: 0 }), null);
  assert.equal(scene.core.isCaughtUp, true);
  assert.equal(liveOn(scene, 6 * HOUR_MS, { stream, verifyItems: 0 }), null);
  assert.equal(scene.core.offset?.held?.since, '80-0');
  assert.equal(liveOn(scene, DAY_MS, { stream, verifyItems: 0 }), null);
  assert.deepEqual([scene.core.offset?.since, scene.core.offset?.gapsHealedAtMs], ['80-0', []]);
});

test('a newest offset before ours is a reset within the hour in which a fresh start lies there too', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  const stream = { next: '5-0', nextId: '4-0' };
  liveOn(scene, HOUR_MS / 2, { stream, verifyItems: 0 });
  let reported = null;
  for (let asked = 0; asked < 2_000 && reported === null; asked++) {
    const wanted = scene.next();
    if (wanted.kind === 'wait') scene.pass(wanted.ms);
    else if (wanted.kind === 'start') scene.take({ kind: 'start', since: '4-0' });
    else {
      const decision = scene.take(wanted.kind === 'verifyStart' ? { kind: 'verifyStart', taken: true } : stream);
      if (decision.notifications.some(({ kind }) => kind === 'streamReset')) reported = decision;
    }
  }
  assert.equal(reported?.offset?.since, '4-0');
  assert.ok(scene.nowMs < 2 * HOUR_MS);
});
