import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CHECKS,
  DAY_MS,
  EVENTS,
  expired,
  type Given,
  liveOn,
  NOON,
  offsetAt,
  POLL_MS,
  provider,
  Scene,
} from './follower-scene.ts';

test('five days away is no gap; seven days are suspected at the first answer, whose events are taken all the same', () => {
  const early = new Scene(EVENTS, offsetAt(EVENTS, '5-0'), NOON + 5 * DAY_MS);
  assert.deepEqual(early.take({ items: 1, next: '6-0' }).notifications, []);
  const late = new Scene(EVENTS, offsetAt(EVENTS, '5-0'), NOON + 7 * DAY_MS);
  const decision = late.take({ items: 1, next: '6-0' });
  const to = provider(NOON + 7 * DAY_MS);
  const reported = { kind: 'gapSuspected', fromMs: NOON, to, since: '5-0', ageMs: 7 * DAY_MS };
  assert.deepEqual([decision.notifications, decision.writes, decision.offset?.since], [[reported], true, '6-0']);
  assert.deepEqual(late.pass(POLL_MS).take({ items: 1, next: '7-0' }).notifications, [], 'it is reported once');
});

test('a suspicion is committed even with an answer that is discarded, and not reported again after a restart', () => {
  const scene = new Scene(EVENTS, offsetAt(EVENTS, '5-0'), NOON + 8 * DAY_MS);
  const { offset, notifications } = scene.take({ kind: 'refused' });
  assert.deepEqual([offset?.since, offset?.gapSuspectedFromMs, notifications.length], ['5-0', NOON, 2]);
  const again = new Scene(EVENTS, offset, NOON + 8 * DAY_MS);
  assert.deepEqual(again.take({ kind: 'refused' }).notifications, []);
});

for (const [what, stream] of Object.entries({
  'a refused offset': { kind: 'refused' },
  'an offset that is answered with nothing while the stream goes on': { next: '5-0', nextId: '80-0' },
  'an offset that is answered with itself as the newest': { next: '5-0', nextId: '5-0' },
  'events that never move on': { items: 2, next: '5-0' },
}) as [string, Given][]) {
  test(`${what}: after three rounds over five minutes the events go on from the fresh start, and it is reported`, () => {
    const scene = expired(EVENTS);
    const startedMs = scene.nowMs;
    const decision = scene.prove({ stream, start: { kind: 'start', since: '80-0' } });
    assert.ok(decision && scene.nowMs - startedMs >= EVENTS.gapProofMs);
    const [reported] = decision.notifications;
    assert.ok(reported?.kind === 'gapProven');
    assert.deepEqual([reported.fromMs, reported.lostAfter, reported.goesOnAfter], [NOON, '5-0', '80-0']);
    assert.deepEqual(
      [decision.offset?.since, decision.offset?.gapsHealedAtMs, decision.offset?.gapSuspectedFromMs, decision.writes],
      ['80-0', [scene.dateMs], null, false],
    );
    assert.deepEqual(scene.next(), { kind: 'stream', since: '80-0' });
  });

  test(`${what}: checks go on without an offset, since that may still serve what lies behind`, () => {
    const scene = expired(CHECKS);
    const decision = scene.prove({ stream, start: { kind: 'start', since: '80-0', newest: '90-0' } });
    const [reported] = decision?.notifications ?? [];
    assert.ok(reported?.kind === 'gapProven');
    assert.deepEqual([reported.lostAfter, reported.goesOnAfter, decision?.offset?.since], ['5-0', null, null]);
    assert.deepEqual(scene.next(), { kind: 'stream', since: null });
    assert.equal(scene.take({ items: 3, next: '80-0' }).offset?.since, '80-0');
  });
}

test('a loop of check cursors is seen when it closes; its answer is discarded, and a fresh start taken once proven', () => {
  const scene = new Scene(CHECKS, offsetAt(CHECKS, 'a'));
  scene.take({ items: 2, next: 'b' });
  scene.take({ items: 2, next: 'c' });
  const closing: Given = { items: 2, next: 'a' };
  const { discarded, writes, offset } = scene.take(closing);
  assert.deepEqual([discarded, writes, offset], ['stuck', false, null]);
  assert.equal(scene.core.offset?.since, 'c');
  const decision = scene.prove({ stream: closing, start: { kind: 'start', since: 'a', newest: 'd' } });
  assert.deepEqual([decision?.notifications[0]?.kind, decision?.offset?.since], ['gapProven', null]);
  // What was read before is read again, and is no loop.
  assert.equal(scene.take({ items: 2, next: 'a' }).writes, true);
});

test('a loop of check cursors is remembered for a thousand of them', () => {
  const scene = new Scene(CHECKS, offsetAt(CHECKS, 'c0'));
  for (let n = 1; n <= 1_001; n++) scene.take({ items: 1, next: `c${n}` });
  assert.equal(scene.answer({ items: 1, next: 'c1' }).discarded, 'stuck');
  assert.equal(scene.answer({ items: 1, next: 'c0' }).discarded, null);
});

test('no gap is proven by time alone, by a start that is ours, or by one that is refused as well', () => {
  const quiet: Given = { next: '5-0', nextId: '5-0' };
  const cases: [Scene, Parameters<Scene['prove']>[0]][] = [
    [new Scene(EVENTS, offsetAt(EVENTS, '5-0')), { stream: quiet, start: { kind: 'start', since: '80-0' } }],
    [expired(EVENTS), { stream: quiet, start: { kind: 'start', since: '5-0' } }],
    [expired(EVENTS), { stream: { kind: 'refused' }, start: { kind: 'start', since: '80-0' }, verifies: false }],
    [expired(CHECKS), { stream: quiet, start: { kind: 'start', since: '5-0' } }],
    // The oldest checks come first: our offset is the newest all the same.
    [expired(CHECKS), { stream: quiet, start: { kind: 'start', since: '1-0', newest: '5-0' } }],
  ];
  for (const [position, [scene, answers]] of cases.entries()) {
    assert.equal(scene.prove(answers), null, `case ${position}`);
    assert.equal(scene.core.offset?.since, '5-0');
  }
});

test('after eight days in which nothing happened, a fresh start that is our offset shows so: nothing is reported', () => {
  for (const settings of [EVENTS, CHECKS]) {
    const scene = expired(settings);
    const { offset, notifications, discarded } = scene.take({ next: '5-0' });
    assert.deepEqual([offset, notifications, discarded, scene.core.isCaughtUp], [null, [], 'quiet', false]);
    assert.equal(scene.next().kind, 'start');
    scene.take({ kind: 'start', since: '5-0' });
    const after = scene.pass(10).take({ next: '5-0' });
    assert.deepEqual([after.notifications, after.offset?.standingMs, scene.core.isCaughtUp], [[], 10, true]);
    // It is committed at once: a restart would suspect it again.
    assert.equal(after.offset?.serverDate.dateMs, scene.dateMs);
  }
});

test('a fresh start that gets 200 has ours asked again at once', () => {
  for (const settings of [EVENTS, CHECKS]) {
    const other = expired(settings);
    other.take({ next: '5-0' });
    other.take({ kind: 'start', since: '80-0' });
    if (settings === EVENTS) {
      assert.deepEqual(other.next(), { kind: 'verifyStart', since: '80-0' });
      other.take({ kind: 'verifyStart', taken: true });
    }
    assert.deepEqual(other.next(), { kind: 'stream', since: '5-0' });
  }
});

test('an offset that is served again ends the proof', () => {
  const scene = expired(EVENTS);
  scene.take({ kind: 'refused' });
  scene.take({ kind: 'start', since: '80-0' });
  scene.pass(2_000).take({ items: 1, next: '6-0', nextId: '80-0' });
  assert.deepEqual(scene.next(), { kind: 'stream', since: '6-0' });
});

test('while a gap is being proven, our own offset is asked at least at every poll', () => {
  const scene = expired(EVENTS);
  scene.take({ kind: 'refused' });
  assert.equal(scene.next().kind, 'start');
  assert.deepEqual(scene.pass(POLL_MS).next(), { kind: 'stream', since: '5-0' });
});

test('a third gap within a day stops the source, after a restart too', () => {
  const broken = { stream: { kind: 'refused' }, start: { kind: 'start', since: '80-0' } } as const;
  const scene = expired(EVENTS);
  scene.prove(broken);
  const second = scene.prove({ ...broken, start: { kind: 'start', since: '90-0' } });
  assert.equal(second?.offset?.gapsHealedAtMs.length, 2);
  const restarted = new Scene(EVENTS, second?.offset ?? null, scene.dateMs);
  assert.throws(() => restarted.prove(broken), { name: 'ConnectorError', code: 'RETENTION_GAPS_REPEAT' });
  assert.equal(restarted.core.offset?.since, '90-0');
  const nextDay = new Scene(EVENTS, second?.offset ?? null, scene.dateMs + DAY_MS);
  assert.ok(nextDay.prove(broken));
});

for (const [what, given] of Object.entries({
  'nothing, and itself as the newest': { next: '5-0', nextId: '5-0' },
  'nothing, and a newer offset': { next: '5-0', nextId: '80-0' },
  'the oldest events': { items: 3, next: '60-0', nextId: '80-0' },
  'a refusal': { kind: 'refused' },
}) as [string, Given][]) {
  test(`after eight days away, and ${what} in answer, what lies before the last seven is reported as lost, once`, () => {
    // One that may be the end of the stream is compared with a fresh start first.
    const decision =
      'next' in given && given.next === '5-0' ? expired(EVENTS).round(given) : expired(EVENTS).take(given);
    const [suspected, certain, ...others] = decision.notifications;
    assert.deepEqual([suspected?.kind, others], ['gapSuspected', []]);
    const to = provider(NOON + 8 * DAY_MS);
    const lost = { fromMs: NOON, toMs: NOON + DAY_MS, silentMs: 8 * DAY_MS };
    assert.deepEqual(certain, { kind: 'gapCertain', ...lost, since: '5-0', to });
    const again = new Scene(EVENTS, decision.offset, NOON + 8 * DAY_MS);
    assert.deepEqual(again.take(given).notifications, []);
  });
}

test('only what both clocks say is certain: one alone leaves a gap suspected', () => {
  const DATE = NOON + 8 * DAY_MS;
  for (const [dateMs, ownMs] of [
    [DATE, NOON],
    [NOON, DATE],
  ] as const) {
    const time = { dateMs, from: 'provider', ownMs } as const;
    const reported = new Scene(EVENTS, offsetAt(EVENTS, '5-0')).round({ next: '5-0', time }).notifications;
    const kinds = reported.map(({ kind }) => kind);
    assert.deepEqual(kinds, ['gapSuspected']);
  }
});

test('a second long absence before the first one was healed is reported too, when events come again', () => {
  const { offset } = expired(EVENTS).round({ next: '5-0', nextId: '80-0' });
  const back = new Scene(EVENTS, offset, NOON + 16 * DAY_MS);
  const { notifications, writes } = back.take({ items: 1, next: '70-0' });
  assert.equal(writes, true);
  const [certain] = notifications;
  assert.ok(certain?.kind === 'gapCertain');
  assert.deepEqual([certain.fromMs, certain.toMs], [NOON + 8 * DAY_MS, NOON + 9 * DAY_MS]);
});

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

/** One that holds a fresh offset beside its own. */
function holding(): Scene {
  const scene = unmoved(EVENTS);
  scene.take({ kind: 'start', since: '80-0' });
  scene.take({ kind: 'verifyStart', taken: true });
  scene.pass(POLL_MS).take(QUIET);
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
  const scene = holding();
  // The event log lags: what lies between the two comes hours later.
  scene.pass(20 * HOUR_MS).take({ items: 1, next: '79-0' });
  assert.equal(scene.core.offset?.held, null);
  scene.pass(EVENTS.offsetHoldMs).take({ next: '79-0' });
  assert.equal(scene.core.offset?.since, '79-0');
});

test('how long a fresh offset was held survives a restart, by the clock that says less', () => {
  const scene = holding();
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
  const scene = holding();
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
  const lost = reported?.notifications.map((one) => ({ ...one, to: null }));
  const told = { kind: 'gapProven', why: 'unmoved', fromMs: NOON, to: null, lostAfter: '5-0', goesOnAfter: '80-0' };
  assert.deepEqual(lost, [told]);
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
