import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, EVENTS, liveOn, NOON, offsetAt, Scene } from './follower-scene.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

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

const REFUSED = { kind: 'refused' } as const;

/** A provider whose stream ends before our offset, and that refuses ours. Gives what is notified, and when. */
function behindFor(scene: Scene, ms: number) {
  const notified: [minute: number, kind: string][] = [];
  const fromMs = scene.nowMs;
  while (scene.nowMs - fromMs < ms && notified.at(-1)?.[1] !== 'streamReset') {
    const wanted = scene.next();
    if (wanted.kind === 'wait') scene.pass(Math.min(wanted.ms, fromMs + ms - scene.nowMs));
    else {
      const verifyStart = { kind: 'verifyStart', taken: true, next: '4-0' } as const;
      const start = { kind: 'start', since: '4-0' } as const;
      const { notifications } = scene.take({ verifyStart, start, stream: REFUSED }[wanted.kind]);
      for (const { kind } of notifications) notified.push([Math.floor((scene.nowMs - fromMs) / 60_000), kind]);
    }
  }
  return notified;
}

test('a provider that is behind for 50 minutes is reported after five, and nothing happens', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  assert.deepEqual(behindFor(scene, 50 * MINUTE_MS), [[5, 'streamBehind']]);
  assert.deepEqual([scene.core.offset?.since, scene.core.isCaughtUp], ['5-0', false]);
  const { writes, notifications, isAgain } = scene.take({ items: 1, next: '6-0' });
  assert.deepEqual([writes, notifications, isAgain], [true, [], false]);
  assert.deepEqual([scene.core.offset?.held, scene.core.offset?.again], [null, null]);
});

test('one that is behind for an hour is followed from there, and what it brings up to our offset comes again', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  const [reported, adopted, ...others] = behindFor(scene, 64 * MINUTE_MS);
  assert.deepEqual([reported, adopted?.[1], others], [[5, 'streamBehind'], 'streamReset', []]);
  assert.ok((adopted?.[0] ?? 0) >= 60);
  const { since, again } = scene.core.offset ?? {};
  assert.deepEqual([since, again?.since], ['4-0', '5-0']);
  const decisions = ['4-5', '5-1', '5-2'].map((next) => scene.take({ items: 1, next }));
  assert.deepEqual(
    decisions.map(({ isAgain }) => isAgain),
    [true, true, false],
    'the answer that passes our offset may hold events from before it',
  );
});

test('a fresh start that does not lie before ours ends it, and the next time begins from zero', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  behindFor(scene, 50 * MINUTE_MS);
  while (scene.next().kind !== 'start') {
    const wanted = scene.next();
    if (wanted.kind === 'wait') scene.pass(wanted.ms);
    else scene.take(REFUSED);
  }
  scene.take({ kind: 'start', since: '5-0' });
  assert.equal(scene.core.offset?.held, null);
  const again = behindFor(scene, 50 * MINUTE_MS);
  assert.deepEqual(again, [[7, 'streamBehind']]);
});

test('where the log has begun again with lower offsets for good, events count as new after a day', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  behindFor(scene, 64 * MINUTE_MS);
  scene.take({ items: 1, next: '4-1' });
  assert.equal(scene.take({ next: '4-1' }).isAgain, false);
  scene.pass(DAY_MS).take({ next: '4-1' });
  assert.equal(scene.core.offset?.again, null);
  assert.equal(scene.take({ items: 1, next: '4-2' }).isAgain, false);
});
