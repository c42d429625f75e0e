import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import {
  CHECKS,
  DAY_MS,
  EVENTS,
  expired,
  type Given,
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
  assert.throws(
    () => restarted.prove(broken),
    (error) => error instanceof ConnectorError && error.code === 'RETENTION_GAPS_REPEAT',
  );
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
    assert.deepEqual(
      reported.map(({ kind }) => kind),
      ['gapSuspected'],
    );
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
