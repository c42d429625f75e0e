import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Census } from '../../../../src/sources/walk/census.ts';
import { DAY_MS, drive, event, pending, SETTINGS, START_MS, time } from '../core/driven-core.ts';

test('nothing moves on before a decision is committed, and a decision is committed once', () => {
  const source = drive({});
  const answer = {
    kind: 'stream',
    events: [event(1)],
    next: '6-1',
    nextId: '6-1',
    time: time(0),
  } as const;
  const decision = source.core.answered(answer, 0);
  assert.equal(decision.offset?.since, '6-1');
  assert.deepEqual(source.next(), { kind: 'stream', since: '5-5' });
  decision.committed();
  assert.equal(source.core.offset?.since, '6-1');
  assert.throws(() => decision.committed(), /committed twice/);
});

test('no page is used that was asked for before the margin had passed', () => {
  const source = drive(pending);
  source.stream();
  source.handOff();
  source.ms -= 1;
  assert.deepEqual(source.next(), { kind: 'wait', ms: 1 });
  assert.throws(() =>
    source.core.answered({ kind: 'page', walk: 1, minId: null, rows: [], next: null, start: null }, source.ms),
  );
});

test('a fresh start that was asked for before a drain began does not end it, whenever its answer comes', () => {
  const source = drive(pending);
  source.stream();
  source.ms = 10_000;
  source.answer({ kind: 'census', census: new Census() });
  source.stream([event(6)], '6-1');
  source.ms += SETTINGS.handoffMarginMs;
  assert.equal(source.next().kind, 'start');
  const start = { kind: 'start', since: '6-1', time: time(source.ms) } as const;
  source.answer({ ...start, askedMs: 9_000 });
  assert.equal(source.next().kind, 'start', 'it is asked for once more');
  source.answer({ ...start, askedMs: source.ms });
  source.stream([event(7)], '7-1');
  assert.equal(source.next().kind, 'page');
});

test('a stream that never pauses nor names its end is read up to a fresh start of it, by walk and page alike', () => {
  const source = drive(pending);
  source.stream();
  source.answer({ kind: 'census', census: new Census() });
  let place = 6;
  const goOn = () => source.stream([event(place)], `${place++}-1`);
  const probed = (since: string) => {
    source.ms += SETTINGS.handoffMarginMs - 1;
    goOn();
    // The list may lag by the margin: what it says earlier may be from before.
    assert.equal(source.next().kind, 'stream');
    source.ms += 1;
    assert.equal(source.next().kind, 'start');
    source.answer({ kind: 'start', since, time: time(source.ms) });
  };
  goOn();
  probed('9-1');
  goOn();
  assert.equal(source.next().kind, 'stream', 'the fresh start is not reached yet');
  goOn();
  source.page(null, [1], '2');
  goOn();
  probed('11-1');
  goOn();
  const { write } = source.commit();
  assert.equal(write.kind, 'rows');
  assert.equal(source.next().kind, 'page');
});

test('the next walk is due by the provider clock since the last one began, not since the start', () => {
  const source = drive({ walkStartedAtMs: START_MS - DAY_MS + 1_000 });
  assert.equal(source.stream().begun, null);
  source.ms = 30_000;
  assert.equal(source.stream().begun, 'interval');
});

test('a clock that was set back postpones the next walk by one interval at most', () => {
  const source = drive({ walkStartedAtMs: START_MS + 366 * DAY_MS });
  assert.equal(source.stream().begun, null);
  source.ms = DAY_MS;
  assert.equal(source.stream().begun, 'interval');
});

test('one wrong date at the start of a walk does not put off the next one, whatever restarts come between', () => {
  const ahead = 90 * DAY_MS;
  // The answer that began the walk was dated 90 days ahead; from then on the dates are right, and each day is one life.
  const begun = { walkStartedAtMs: START_MS + ahead, walkStartedOwnMs: START_MS } as const;
  const first = drive({ ...begun, serverDate: time(0) });
  assert.equal(first.stream().begun, null);
  const second = drive({ ...begun, serverDate: time(0) });
  second.ms = 3_000;
  assert.equal(second.core.secondsToNextWalk(second.ms, START_MS + DAY_MS), 0);
  const answered = { events: [], next: '5-5', nextId: '5-5', full: false } as const;
  const dayLater = second.answer({ kind: 'stream', ...answered, time: time(DAY_MS) });
  assert.equal(dayLater.begun, 'interval');
  assert.deepEqual(
    [dayLater.offset?.walkStartedAtMs, dayLater.offset?.walkStartedOwnMs],
    [START_MS + DAY_MS, START_MS + DAY_MS],
  );
  assert.equal(second.core.secondsToNextWalk(second.ms, START_MS + DAY_MS), null, 'a walk is under way');
});

test('a date that jumps now and then begins no walk while the one who began the last one lives', () => {
  const source = drive(pending);
  source.walkTo([1], []);
  source.close(['1', '2']);
  source.commit();
  const begunAgain = source.core.offset?.walk;
  const answered = { events: [], next: '5-5', nextId: '5-5', full: false } as const;
  // Begun by another life: the longer of both clocks counts, so one walk; after that the monotonic clock.
  const leap = source.answer({
    kind: 'stream',
    ...answered,
    time: { ...time(source.ms), dateMs: START_MS + 90 * DAY_MS },
  });
  assert.equal(leap.begun, 'interval');
  assert.equal(leap.offset?.walk, (begunAgain ?? 0) + 1);
  source.handOff([1]);
  source.page(null, [1], null);
  source.stream();
  source.commit();
  source.close(['1', '2']);
  source.commit();
  const good = source.answer({ kind: 'stream', ...answered, time: time(source.ms) });
  const again = source.answer({
    kind: 'stream',
    ...answered,
    time: { ...time(source.ms), dateMs: START_MS + 180 * DAY_MS },
  });
  assert.deepEqual([good.begun, again.begun], [null, null]);
  assert.ok(Math.abs((source.core.secondsToNextWalk(source.ms, 0) ?? 0) - DAY_MS / 1_000) < 60);
});

test('whatever was not asked for is refused by the table, and a new walk may begin in every phase', () => {
  assert.throws(() => drive({}).core.answered({ kind: 'census', census: new Census() }, 0), /idle.*census/);
  assert.throws(
    () => drive(null).core.answered({ kind: 'verifyStart', taken: true, items: 0, next: null }, 0),
    /verifyStart/,
  );
});
