import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECKS, DAY_MS, EVENTS, liveOn, NOON, offsetAt, POLL_MS, Scene } from './follower-scene.ts';

const HOUR_MS = 3_600_000;
const QUIET = { next: '5-0', nextId: '80-0' } as const;

/** A source whose offset has stood still for six hours, and that now wants a fresh one. */
function unmoved(settings: typeof EVENTS): Scene {
  const scene = new Scene(settings, offsetAt(settings, '5-0'));
  scene.take(QUIET);
  scene.pass(6 * HOUR_MS).take(QUIET);
  assert.equal(scene.next().kind, 'start');
  return scene;
}

test('it is committed at once, and nothing is reported, since nothing is lost', () => {
  const scene = unmoved(EVENTS);
  scene.take({ kind: 'start', since: '80-0' });
  scene.take({ kind: 'verifyStart', taken: true });
  // A response to our offset comes as ever; nothing is asked twice.
  assert.equal(scene.next().kind, 'wait');
  const beside = scene.pass(POLL_MS).take(QUIET);
  assert.deepEqual([beside.offset?.since, beside.offset?.held], ['5-0', { since: '80-0', heldMs: POLL_MS }]);
  scene.pass(EVENTS.offsetHoldMs - POLL_MS - 1).take(QUIET);
  const { offset, notifications, writes } = scene.pass(1).take(QUIET);
  assert.deepEqual([offset?.since, offset?.held, notifications, writes], ['80-0', null, [], false]);
  assert.deepEqual(scene.pass(POLL_MS).next(), { kind: 'stream', since: '80-0' });
});

test('an offset that moves meanwhile stays ours', () => {
  const scene = unmoved(EVENTS);
  scene.take({ kind: 'start', since: '80-0' });
  scene.take({ kind: 'verifyStart', taken: true });
  scene.pass(POLL_MS).take(QUIET);
  // The event log lags: what lies between the two comes hours later.
  scene.pass(20 * HOUR_MS).take({ items: 1, next: '79-0' });
  assert.equal(scene.core.offset?.held, null);
  scene.pass(EVENTS.offsetHoldMs).take({ next: '79-0' });
  assert.equal(scene.core.offset?.since, '79-0');
});

test('how long a fresh offset was held survives a restart, by the clock that says less', () => {
  const scene = unmoved(EVENTS);
  scene.take({ kind: 'start', since: '80-0' });
  scene.take({ kind: 'verifyStart', taken: true });
  scene.pass(POLL_MS).take(QUIET);
  const { offset: committed } = scene.pass(10 * HOUR_MS).take(QUIET);
  assert.equal(committed?.held?.heldMs, 10 * HOUR_MS + POLL_MS);
  const sinceAfter = (byProviderMs: number, byUsMs: number) => {
    const again = new Scene(EVENTS, committed, scene.dateMs + byUsMs);
    const time = { dateMs: scene.dateMs + byProviderMs, from: 'provider', ownMs: scene.dateMs + byUsMs } as const;
    again.take({ ...QUIET, time });
    return again.core.offset?.since;
  };
  assert.equal(sinceAfter(14 * HOUR_MS, 14 * HOUR_MS), '80-0');
  assert.equal(sinceAfter(13 * HOUR_MS, 14 * HOUR_MS), '5-0');
  assert.equal(sinceAfter(14 * HOUR_MS, 13 * HOUR_MS), '5-0');
});

test('a doubt about our offset puts the fresh one off, and an answer without one lets it take the place', () => {
  const scene = unmoved(EVENTS);
  scene.take({ kind: 'start', since: '80-0' });
  scene.take({ kind: 'verifyStart', taken: true });
  scene.pass(POLL_MS).take(QUIET);
  scene.pass(EVENTS.offsetHoldMs).take({ next: '5-0', nextId: '4-0' });
  assert.equal(scene.core.offset?.since, '5-0');
  scene.pass(POLL_MS).take(QUIET);
  assert.equal(scene.core.offset?.since, '80-0');
});

test('a fresh start that is ours is as good; one that is refused is asked for again in an hour', () => {
  const same = unmoved(EVENTS);
  same.take({ kind: 'start', since: '5-0' });
  assert.equal(same.core.offset?.standingMs, 0);
  same.pass(POLL_MS).take(QUIET);
  assert.equal(same.next().kind, 'wait');

  const refused = unmoved(EVENTS);
  refused.take({ kind: 'start', since: '80-0' });
  refused.take({ kind: 'verifyStart', taken: false });
  refused.pass(HOUR_MS - 1).take(QUIET);
  assert.equal(refused.next().kind, 'wait');
  refused.pass(1).take(QUIET);
  assert.equal(refused.next().kind, 'start');
  assert.equal(refused.core.offset?.since, '5-0');
});

test('pre-trade checks go on from the newest offset that is named, never from one that may lie before ours', () => {
  const scene = unmoved(CHECKS);
  scene.take({ kind: 'start', since: '1-0', newest: '80-0' });
  assert.deepEqual(scene.next(), { kind: 'verifyStart', since: '80-0' });
  scene.take({ kind: 'verifyStart', taken: true });
  scene.pass(POLL_MS).take(QUIET);
  assert.deepEqual(scene.core.offset?.held, { since: '80-0', heldMs: POLL_MS });
  const { offset, notifications } = scene.pass(CHECKS.offsetHoldMs).take(QUIET);
  assert.deepEqual([offset?.since, notifications], ['80-0', []]);

  const unnamed = unmoved(CHECKS);
  unnamed.take({ kind: 'start', since: '1-0' });
  unnamed.pass(POLL_MS).take(QUIET);
  unnamed.pass(CHECKS.offsetHoldMs).take(QUIET);
  assert.equal(unnamed.core.offset?.since, '5-0');

  const ours = unmoved(CHECKS);
  ours.take({ kind: 'start', since: '1-0', newest: '5-0' });
  assert.deepEqual([ours.core.offset?.since, ours.core.offset?.standingMs], ['5-0', 0]);
});

test('an offset that a first answer names as the newest, and that has checks behind it, is none: ours may lie behind it too', () => {
  const scene = unmoved(CHECKS);
  scene.take({ kind: 'start', since: '3-0', newest: '3-0' });
  assert.deepEqual(scene.next(), { kind: 'verifyStart', since: '3-0' });
  scene.take({ kind: 'verifyStart', taken: true, items: 2 });
  for (let asked = 0; asked < 20; asked++) {
    scene.pass(POLL_MS).take(QUIET);
    assert.equal(scene.core.offset?.since, '5-0');
  }
});

test('how long it has stood still survives a restart', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  scene.take(QUIET);
  const committed = scene.pass(4 * HOUR_MS).take(QUIET).offset;
  assert.equal(committed?.standingMs, 4 * HOUR_MS);
  const again = new Scene(EVENTS, committed, scene.dateMs + 2 * HOUR_MS);
  again.take(QUIET);
  assert.equal(again.next().kind, 'start');
  const late = new Scene(EVENTS, committed, scene.dateMs + 6.5 * DAY_MS - 4 * HOUR_MS + 1);
  const { notifications, offset } = late.round(QUIET);
  assert.deepEqual([notifications.map(({ kind }) => kind), offset?.gapSuspectedFromMs], [['gapSuspected'], NOON]);
});

/** A gap is suspected since the provider's date alone was eight days ahead in one answer. */
function suspectedByDate(): Scene {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'));
  const time = { dateMs: NOON + 8 * DAY_MS, from: 'provider', ownMs: NOON } as const;
  const reported = scene.round({ ...QUIET, time }).notifications.map(({ kind }) => kind);
  assert.deepEqual(reported, ['gapSuspected']);
  return scene;
}

test('an offset that was suspected until another one took its place is reported as lost, with from and to', () => {
  const scene = suspectedByDate();
  const reported = liveOn(scene, 2 * DAY_MS, { stream: QUIET, verifyItems: 0 });
  assert.deepEqual(
    reported?.notifications.map((one) => ({ ...one, to: null })),
    [{ kind: 'gapProven', why: 'unmoved', fromMs: NOON, to: null, lostAfter: '5-0', goesOnAfter: '80-0' }],
  );
  assert.equal(reported?.offset?.gapSuspectedFromMs, null);
});

test('an offset that is suspected and answers nothing while the one beside it has events is given up in minutes', () => {
  const scene = suspectedByDate();
  liveOn(scene, HOUR_MS, { stream: QUIET, verifyItems: 0 });
  assert.equal(scene.core.isCaughtUp, true);
  const startedMs = scene.nowMs;
  const reported = liveOn(scene, DAY_MS, { stream: QUIET, verifyItems: 1 });
  const [proven] = reported?.notifications ?? [];
  assert.ok(proven?.kind === 'gapProven');
  assert.deepEqual([proven.why, proven.goesOnAfter, reported?.offset?.since], ['overtaken', '80-0', '80-0']);
  assert.ok(scene.nowMs - startedMs < 3 * EVENTS.gapProofMs);
});

test('events behind the one that is held are no proof once ours answers as well', () => {
  const scene = suspectedByDate();
  liveOn(scene, HOUR_MS, { stream: QUIET, verifyItems: 0 });
  for (let asked = 0; asked < 100 && scene.next().kind !== 'verifyStart'; asked++) {
    const wanted = scene.next();
    if (wanted.kind === 'wait') scene.pass(wanted.ms);
    else scene.take(QUIET);
  }
  scene.take({ kind: 'verifyStart', taken: true, items: 1 });
  assert.equal(scene.core.isCaughtUp, true);
  assert.deepEqual(scene.next(), { kind: 'stream', since: '5-0' });
  assert.equal(scene.take({ items: 1, next: '81-0' }).offset?.held, null);
  assert.deepEqual(scene.core.offset?.since, '81-0');
});

test('nothing that happens while a gap is proven is lost: the stream goes on after the first fresh start', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'), NOON + 8 * DAY_MS);
  let newest = 80;
  for (let asked = 0; asked < 100 && scene.core.offset?.since === '5-0'; asked++) {
    const wanted = scene.next();
    if (wanted.kind === 'wait') scene.pass(wanted.ms);
    else if (wanted.kind === 'start') scene.take({ kind: 'start', since: `${newest++}-0` });
    else scene.take(wanted.kind === 'verifyStart' ? { kind: 'verifyStart', taken: true } : { kind: 'refused' });
  }
  assert.equal(scene.core.offset?.since, '80-0');
});
