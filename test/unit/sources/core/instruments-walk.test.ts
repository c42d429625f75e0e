import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import { instrumentsNotification } from '../../../../src/sources/tasks/notification-texts.ts';
import { Census } from '../../../../src/sources/walk/census.ts';
import type { CoreDecision, RowFacts, WalkFlaw } from '../../../../src/sources/walk/instruments-messages.ts';
import { firstOffset, NO_COUNTS } from '../../../../src/sources/walk/instruments-offset.ts';
import { sortRows } from '../../../../src/sources/walk/page-rows.ts';
import { planSweep } from '../../../../src/sources/walk/sweep.ts';
import { DAY_MS, drive, event, pending, row, SETTINGS, time } from './driven-core.ts';

for (const next of ['10', '9', '-1']) {
  test(`a cursor that does not rise from 10 (${next}) ends the walk, and another one begins while the stream goes on`, () => {
    const source = drive({ ...pending, walkCursor: '10' });
    source.stream();
    source.handOff();
    const { write, offset, begun, notifications } = source.page('10', [10], next);
    assert.deepEqual([write.kind, begun, notifications[0]?.kind], ['nothing', 'afterGivenUp', 'walkGivenUp']);
    assert.deepEqual([offset?.walk, offset?.walkPending, offset?.walkCursor], [2, true, null]);
    const endMs = source.ms + SETTINGS.pollIntervalMs;
    for (; source.ms < endMs; source.ms += 1_000) {
      const wanted = source.next();
      if (wanted.kind === 'stream') source.stream();
      else assert.equal(wanted.kind, 'wait');
    }
    assert.equal(source.next().kind, 'census');
  });
}

test('lists without an end in a row, each after a longer rest, stop the source at the fourth; a whole walk begins the count again', () => {
  const source = drive({ ...pending, walkCursor: '10' });
  source.stream();
  const rests: number[] = [];
  const loop = () => {
    source.handOff();
    if (source.core.offset?.walkCursor === null) {
      source.page(null, [], '10');
      source.stream();
      source.commit();
    }
    return source.page('10', [10], '10');
  };
  for (let walk = 1; walk <= 3; walk++) {
    const [reported] = loop().notifications;
    assert.ok(reported?.kind === 'walkGivenUp');
    rests.push(reported.waitMs);
    source.ms += reported.waitMs;
    source.stream();
  }
  assert.deepEqual(rests, [30_000, 60_000, 120_000]);
  assert.throws(loop, { code: 'WALK_CURSOR_REPEATED', action: 'stopSource' });

  const mended = drive({ ...pending, walksGivenUp: 3 });
  mended.walkTo([1], []);
  mended.close(['1', '2']);
  assert.equal(mended.commit().offset?.walksGivenUp, 0);
});

/** The end of a walk of which 1 was the last row, with such rows behind it when the list is asked again. */
function walkWithRowsBehind(behind: readonly number[], named: readonly number[], changes = {}) {
  const source = drive({ ...pending, ...changes });
  source.walkTo([1], [1, 2]);
  for (const [place, rows, next] of [
    ['1', behind.slice(0, 1), behind.length > 1 ? '50' : null],
    ...(behind.length > 1 ? [['50', behind.slice(1), null] as const] : []),
    ['2', behind, null],
  ] as const) {
    assert.deepEqual(source.next(), { kind: 'behindLast', minId: place });
    source.answer({ kind: 'behindLast', rows: rows.map(row), next });
  }
  source.stream(named.map(event), named.length > 0 ? '6-0' : '5-5');
  if (named.length > 0) source.stream();
  return source.commit();
}

test('instruments that were issued while a walk ends, and that the stream has named, do not hinder it', () => {
  for (const issued of [[60], [60, 70]]) {
    const { write, notifications } = walkWithRowsBehind(issued, issued);
    assert.deepEqual(write, { kind: 'tombstones', ids: [2n] });
    assert.equal(notifications.length, 1);
  }
  assert.equal(walkWithRowsBehind([60, 70], [60]).write.kind, 'nothing', 'one that the stream has not named');
});

test('the second walk in a row that cannot determine what is gone is reported as a standstill; one that can begins the count again', () => {
  const kinds = (decision: CoreDecision) => decision.notifications.map(({ kind }) => kind);
  const second = walkWithRowsBehind([60], [], { walksWithoutDeletion: 1 });
  assert.deepEqual(kinds(second), ['walkCompleted', 'deletionSkipped', 'deletionsStandStill']);
  assert.equal(second.offset?.walksWithoutDeletion, 2);
  const first = walkWithRowsBehind([60], []);
  assert.deepEqual(kinds(first), ['walkCompleted', 'deletionSkipped']);
  const resumed = walkWithRowsBehind([], [], { walksWithoutDeletion: 1, walkResumed: true });
  assert.deepEqual(kinds(resumed), ['walkCompleted', 'deletionsStandStill']);
  assert.equal(walkWithRowsBehind([60], [60], { walksWithoutDeletion: 5 }).offset?.walksWithoutDeletion, 0);
});

test('a walk beside a stream that repeats events deletes nothing and says so; a refused shrink begins the count again', () => {
  const again = { since: '9-0', fromMs: time(0).ownMs };
  const repeating = walkWithRowsBehind([], [], { walksWithoutDeletion: 1, again });
  assert.deepEqual([repeating.write.kind, repeating.offset?.walksWithoutDeletion], ['nothing', 1]);
  const [completed] = repeating.notifications;
  assert.ok(completed !== undefined);
  const { message } = instrumentsNotification('a', completed, 0);
  assert.match(message, /0 gone\. It deleted nothing, because the stream repeats earlier events\.$/);

  const never = drive({ ...pending, again }, { tombstones: false });
  never.walkTo([1], [1, 2]);
  never.close(['1', '2']);
  const [ended] = never.commit().notifications;
  assert.ok(
    ended?.kind === 'walkCompleted' && ended.deletedNothing === null,
    'a source that never deletes gives no reason',
  );
  for (const tombstones of [true, false]) {
    const resumed = drive({ ...pending, walkResumed: true }, { tombstones });
    resumed.walkTo([1], [1, 2]);
    resumed.close(['1', '2']);
    const [one] = resumed.commit().notifications;
    assert.ok(one?.kind === 'walkCompleted' && one.resumed);
    assert.equal(one.deletedNothing, tombstones ? 'resumed' : null);
  }

  const source = drive({ ...pending, walksWithoutDeletion: 1 }, { shrinkAlwaysAllowed: 0, maxShrink: 0 });
  source.walkTo([1], [1, 2]);
  source.close(['1', '2']);
  const refused = source.commit();
  assert.deepEqual(
    refused.notifications.map(({ kind }) => kind),
    ['walkCompleted', 'shrinkRefused'],
  );
  assert.equal(refused.offset?.walksWithoutDeletion, 0, 'it could determine what is gone');
});

test('an empty list is asked for once more, and the highest id has nothing behind it', () => {
  const source = drive(pending);
  source.walkTo([], [1]);
  assert.deepEqual(source.next(), { kind: 'behindLast', minId: null });

  const highest = drive(pending);
  highest.stream();
  highest.handOff();
  const rows = [{ id: 2n ** 63n - 1n, digest: 1n }];
  assert.equal(highest.next().kind, 'page');
  highest.answer({ kind: 'page', walk: 1, minId: null, rows, next: null, start: null });
  highest.stream();
  highest.commit();
  highest.close(['9223372036854775807']);
  assert.equal(highest.commit().offset?.walkPending, false);
});

test('many tombstones are written in several transactions, the last of which ends the walk', () => {
  const source = drive({ ...pending, walkAllowShrink: 25_000 });
  const held = Array.from({ length: 25_001 }, (_, index) => index + 1);
  source.walkTo([1], held);
  source.close(['1', '2']);
  const counts = [0, 1, 2].map(() => {
    const { write, offset } = source.commit();
    return [write.kind === 'tombstones' && write.ids.length, offset?.walkPending];
  });
  assert.deepEqual(counts, [
    [10_000, true],
    [10_000, true],
    [5_000, false],
  ]);
});

test('a row without a readable id behind the end of the list deletes nothing', () => {
  const source = drive(pending);
  source.walkTo([1], [1, 2]);
  assert.deepEqual(source.next(), { kind: 'behindLast', minId: '1' });
  source.answer({ kind: 'behindLast', rows: [{ id: null, digest: null }], next: null });
  source.stream();
  assert.equal(source.commit().write.kind, 'nothing');
});

test('a walk that a restart interrupts behind its last page begins again, and may delete', () => {
  const source = drive({ ...pending, walkCursor: null, walkAllowShrink: 3, counts: { ...NO_COUNTS, pages: 2 } });
  source.walkTo([1], [1, 2]);
  source.close(['1', '2']);
  const { write, offset } = source.commit();
  assert.deepEqual(write, { kind: 'tombstones', ids: [2n] });
  assert.deepEqual([offset?.walk, offset?.walkPending, offset?.counts.pages], [2, false, 1]);
});

/** Between two walks: what is asked for next is only the stream, when its time has come. */
function idle(walkRequest: string | null = null) {
  const source = drive({ walkRequest });
  source.stream();
  assert.equal(source.next().kind, 'wait');
  return source;
}

test('a walk that is asked for begins with an answer of the stream, for which nothing is waited', () => {
  const source = idle();
  source.core.requestWalk({ id: 'a', allowShrink: 7 });
  const { begun, offset } = source.stream();
  assert.deepEqual([begun, offset?.walkRequest, offset?.walkAllowShrink], ['requested', 'a', 7]);
  assert.equal(source.core.phase, 'census');
});

test('a request during a walk waits for its end, and asks the stream no more than once', () => {
  const source = idle();
  const { core } = source;
  core.requestWalk({ id: 'a', allowShrink: null });
  source.stream();
  source.answer({ kind: 'census', census: new Census() });
  source.stream();
  assert.deepEqual([core.phase, source.next().kind], ['margin', 'wait']);
  core.requestWalk({ id: 'b', allowShrink: null });
  assert.equal(source.stream().begun, null);
  core.requestWalk({ id: 'b', allowShrink: null });
  assert.deepEqual([core.phase, source.next().kind], ['margin', 'wait']);
});

test('a request that was served, in this life or an earlier one, is not served again', () => {
  const { core, next } = idle('a');
  core.requestWalk({ id: 'a', allowShrink: null });
  assert.equal(next().kind, 'wait');
});

test('a request from before the first offset is served by the first walk, without what it allowed', () => {
  const { core, answer } = drive(null);
  core.requestWalk({ id: 'old', allowShrink: 100_000 });
  const { offset } = answer({ kind: 'start', since: '5-0', time: time(0) });
  assert.deepEqual([offset?.walkRequest, offset?.walkAllowShrink], ['old', null]);
});

test('a request that comes while an answer is being committed is kept', () => {
  const source = idle();
  source.ms = 30_000;
  const answer = { kind: 'stream', events: [event(1)], next: '6-0', nextId: '6-0', time: time(30_000) } as const;
  const decision = source.core.answered(answer, source.ms);
  source.core.requestWalk({ id: 'a', allowShrink: null });
  decision.committed();
  assert.equal(source.stream([], '6-0').begun, 'requested');
});

test('while the stream refuses our offset, a replaced topic is filled all the same', () => {
  const source = drive({ topicId: 'before' }, {}, null, 'now');
  assert.equal(source.next().kind, 'stream');
  assert.equal(source.refused().begun, 'topicReplaced');
});

test('an offset without an id takes over that of the topic, without a walk and without a word', () => {
  const source = drive({}, {}, null, 'now');
  source.ms = DAY_MS / 2;
  const { begun, notifications, offset } = source.stream([event(5)], '6-1');
  assert.deepEqual([begun, notifications, offset?.topicId], [null, [], 'now']);
});

test('where no broker gives an id, the committed one is kept, and says nothing', () => {
  const source = drive({ topicId: 'before' }, {}, null, null);
  const { begun, offset } = source.stream([event(5)], '6-1');
  assert.deepEqual([begun, offset?.topicId], [null, 'before']);
});

function censusOf(count: number): Census {
  const census = new Census();
  for (let id = 1; id <= count; id++) census.put(BigInt(id), BigInt(id), true);
  return census;
}

const facts = (id: number | null, digest: number | null = id): RowFacts => ({
  id: id === null ? null : BigInt(id),
  digest: digest === null ? null : BigInt(digest),
});

test('each row of a page is one of its outcomes, and only what must be written is', () => {
  const census = censusOf(3);
  census.put(4n, 4n, false);
  const rows = [facts(1), facts(2, 20), facts(4), facts(5), facts(6), facts(7, null), facts(null)];
  const sorted = sortRows({ minId: '1', rows }, new Set([6n]), census, null);
  assert.deepEqual(sorted.write, [1, 2, 3, 5, 6]);
  const { counts } = sorted;
  assert.deepEqual(counts, {
    ...NO_COUNTS,
    pages: 1,
    rows: 7,
    unchanged: 1,
    corrected: 1,
    reEncoded: 1,
    added: 1,
    touched: 1,
    deadLetters: 2,
  });
  assert.deepEqual([sorted.flaws, sorted.lastId], [['unreadableId'], 7n]);
});

test('of rows with one id the last one counts, also where ids descend', () => {
  const sorted = sortRows({ minId: null, rows: [facts(9), facts(8, 1), facts(8, 2)] }, new Set(), new Census(), null);
  assert.deepEqual(sorted.write, [0, 2]);
  assert.equal(sorted.counts.repeated, 1);
  assert.equal(sorted.lastId, 9n);
});

test('a row below the cursor is used and noticed; one on it is normal', () => {
  const sorted = sortRows({ minId: '5', rows: [facts(4), facts(5)] }, new Set(), new Census(), null);
  assert.deepEqual(sorted.write, [0, 1]);
  assert.deepEqual([sorted.flaws, sorted.counts.belowCursor], [['rowBelowCursor'], 1]);
});

test('a dead row that comes again at the border of two pages is one dead letter', () => {
  const rows = [facts(5, null), facts(6, null)];
  const sorted = sortRows({ minId: '5', rows }, new Set(), new Census(), 5n);
  assert.deepEqual([sorted.write, sorted.counts.repeated, sorted.counts.deadLetters], [[1], 1, 1]);
  const changed = { minId: '5', rows: [facts(5, 7)] };
  assert.deepEqual(sortRows(changed, new Set(), censusOf(9), 5n).write, [0]);
  const seen = censusOf(9);
  seen.see(5n);
  const again = sortRows(changed, new Set(), seen, 5n);
  assert.deepEqual([again.write, again.counts.repeated], [[], 1], 'which of two rows of a walk is older nobody knows');
});

/** A walk over a topic of `held` instruments, of which `gone` were not seen. */
function sweep(held: number, gone: number, changes: { flaw?: WalkFlaw; allow?: number; resumed?: boolean } = {}) {
  const census = censusOf(held);
  for (let id = gone + 1; id <= held; id++) census.see(BigInt(id));
  const first = firstOffset('', '1-1', responseTime(0, 0), null);
  const plan = planSweep({
    offset: {
      ...first,
      walkResumed: changes.resumed ?? false,
      walkAllowShrink: changes.allow ?? null,
      counts: { ...NO_COUNTS, rows: held - gone },
    },
    flaws: new Set(changes.flaw ? [changes.flaw] : []),
    touched: new Set(),
    census,
    settings: SETTINGS,
  });
  return { deleted: plan.gone.length, reported: plan.notifications.map(({ kind }) => kind) };
}

test('what no row showed is deleted, up to twenty and up to the share', () => {
  assert.deepEqual(sweep(30, 20), { deleted: 20, reported: [] });
  assert.deepEqual(sweep(1_000, 50), { deleted: 50, reported: [] });
});

test('an offset reset names the command that goes back only while the provider still has the events', () => {
  const to = time(10 * DAY_MS);
  const textAt = (dateMs: number) => {
    const before = { filter: null, since: '5-0', dateMs };
    const reset = { kind: 'offsetReset', before, filter: 'all', to, goesOnAfter: '9-0' } as const;
    return instrumentsNotification('a', reset, 0).message;
  };
  assert.match(textAt(to.dateMs - 6 * DAY_MS), / spconnect offsets set a --since 5-0 goes back\.$/);
  assert.doesNotMatch(textAt(to.dateMs - 8 * DAY_MS), /offsets set/);
});

test('more than twenty and more than the share is refused, until it is allowed, and only so far', () => {
  assert.deepEqual(sweep(30, 21), { deleted: 0, reported: ['shrinkRefused'] });
  assert.deepEqual(sweep(1_000, 51), { deleted: 0, reported: ['shrinkRefused'] });
  assert.deepEqual(sweep(1_000, 51, { allow: 50 }), { deleted: 0, reported: ['shrinkRefused'] });
  assert.deepEqual(sweep(1_000, 600, { allow: 600 }), { deleted: 600, reported: [] });
});

test('an empty list deletes nothing, not even one instrument, until it is allowed', () => {
  assert.deepEqual(sweep(1, 1), { deleted: 0, reported: ['shrinkRefused'] });
  assert.deepEqual(sweep(1, 1, { allow: 1 }), { deleted: 1, reported: [] });
  assert.deepEqual(sweep(0, 0), { deleted: 0, reported: [] });
});

test('a walk that was resumed or had a flaw deletes nothing, whatever is allowed', () => {
  assert.deepEqual(sweep(30, 1, { resumed: true, allow: 30 }), { deleted: 0, reported: [] });
  assert.deepEqual(sweep(30, 1, { flaw: 'unreadableId', allow: 30 }), { deleted: 0, reported: ['deletionSkipped'] });
});
