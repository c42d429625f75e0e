import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEndSeen, markAt, markFurther } from '../../../../src/sources/stream/end-mark.ts';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import {
  type Doubt,
  type GapSign,
  type HeldOffset,
  healedOnceMore,
  isOffsetInDoubt,
  NO_DOUBT,
  type OffsetKnown,
  refusesOffset,
  signAgainst,
  weighSign,
  weighStart,
  weighVerified,
} from '../../../../src/sources/stream/retention-gap.ts';
import {
  followStream,
  type OffsetResponse,
  type Stream,
  type StreamPosition,
  secondsToRetentionCliff,
  streamAtStart,
} from '../../../../src/sources/stream/stream.ts';
import {
  compareStreamOffsets,
  readStreamResponse,
  type StreamResponse,
} from '../../../../src/sources/stream/stream-response.ts';
import { drive, event, time } from '../core/driven-core.ts';
import { CHECKS, offsetAt, Scene } from '../core/follower-scene.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AT = {
  nowMs: 0,
  pollIntervalMs: 30_000,
  gapProofMs: 300_000,
  offsetHoldMs: DAY_MS,
  behindLimitMs: HOUR_MS,
  begins: 'atGivenStart',
} as const;
const answer = (next: string, nextId: string | null = next): StreamResponse => ({ next, nextId });

test('offsets are compared as numbers, part by part; other forms cannot be compared', () => {
  assert.equal(compareStreamOffsets('9-9', '10-1'), -1);
  assert.equal(compareStreamOffsets('10-2', '10-10'), -1);
  assert.equal(compareStreamOffsets('99999999999999999999-1', '99999999999999999998-1'), 1);
  assert.equal(compareStreamOffsets('5-5', '5-5'), 0);
  assert.equal(compareStreamOffsets('abc', '5-5'), null);
});

for (const [what, next, events, reading] of [
  ['a higher cursor', '6-1', 1, 'moved'],
  ['a higher cursor without events, which were filtered out', '6-1', 0, 'moved'],
  ['the same cursor without events', '5-5', 0, 'quiet'],
  ['the same cursor with events', '5-5', 2, 'stuck'],
  ['a lower cursor', '4-9', 0, 'lower'],
  ['a lower cursor with events', '4-9', 2, 'lower'],
  ['another cursor that cannot be compared', 'abc', 1, 'moved'],
] as const) {
  test(`${what} reads as ${reading}`, () => assert.equal(readStreamResponse('5-5', answer(next), events), reading));
}

test('of cursors that cannot be compared, one that was ours before goes back, with events or without', () => {
  const read = (events: number) => readStreamResponse('b', answer('a'), events, ['z', 'a']);
  assert.deepEqual([read(2), read(0)], ['stuck', 'stuck']);
  assert.equal(readStreamResponse('b', answer('c'), 1, ['z', 'a']), 'moved');
  assert.equal(
    readStreamResponse('5-5', answer('6-1'), 1, ['6-1']),
    'moved',
    'where they can be compared, that counts',
  );
});

const position = () => ({
  since: '5-5',
  serverDate: responseTime(DAY_MS, DAY_MS),
  standingMs: 0,
  standingLeastMs: 0,
  gapSuspectedFromMs: null,
  held: null,
});

function follow(given: StreamResponse | 'refused', items = 0) {
  const time = responseTime(null, DAY_MS + 1_000);
  const reported: OffsetResponse =
    given === 'refused' ? { kind: 'refused', status: 410, time } : { kind: 'stream', items, time, ...given };
  return followStream(streamAtStart(0), position(), reported, { ...AT, nowMs: 1_000 });
}

test('the next request comes at once, soon or at the interval, as the answer says', () => {
  const pause = (given: StreamResponse | 'refused', events = 1) => follow(given, events).stream.dueMs - 1_000;
  assert.equal(pause(answer('6-1', '7-1')), 0);
  assert.equal(pause(answer('6-1', '6-1')), 0, 'the newest offset may be that of the answer only');
  assert.equal(pause(answer('6-1', '6-1'), 0), 50, 'a cursor that moved over hidden events may have more behind it');
  assert.equal(pause(answer('5-5', '9-9'), 0), 30_000, 'an expired offset may be echoed for ever');
  assert.equal(pause('refused'), 1_000);
});

/** Answers in a row with so many events each; whether the newest offset is that of the log. Gives the pauses. */
function readOn(counts: readonly number[], newest: (at: number) => string | null) {
  let stream = streamAtStart(0);
  let place: StreamPosition = position();
  const time = responseTime(DAY_MS, DAY_MS);
  return counts.map((events, at) => {
    const next = events === 0 ? place.since : `6-${at}`;
    const reported: OffsetResponse = { kind: 'stream', items: events, time, next, nextId: newest(at) ?? next };
    const step = followStream(stream, place, reported, AT);
    [stream, place] = [step.stream, step.position];
    return [step.stream.dueMs, step.stream.caughtUp] as const;
  });
}

test('a backlog that comes in small answers is read at once, to an empty answer whose cursor stays', () => {
  const read = readOn([15, 15, 15, 9, 0], () => null);
  assert.deepEqual(read, [
    [0, false],
    [0, false],
    [0, false],
    [0, false],
    [30_000, true],
  ]);
});

test('a provider that was seen to put its newest offset beyond its cursor is believed when the cursor reaches it', () => {
  assert.deepEqual(readOn([15, 15, 3], (at) => (at === 0 ? '6-2' : null)).slice(1), [
    [30_000, true],
    [30_000, true],
  ]);
});

test('events that go on without end are read with pauses of a second at most, until they come in numbers again', () => {
  const pauses = readOn([600, 2, 4, 8, 16, 32, 64, 64, 400], () => null).map(([pause]) => pause);
  assert.deepEqual(pauses, [0, 50, 100, 200, 400, 800, 1_000, 1_000, 0]);
});

test('answers that are not taken are asked for ever more seldom, down to the interval', () => {
  let { stream } = follow('refused');
  const pauses = [];
  for (let n = 0; n < 6; n++) {
    pauses.push(stream.dueMs - 1_000);
    const time = responseTime(DAY_MS, DAY_MS);
    stream = followStream(stream, position(), { kind: 'refused', status: 410, time }, { ...AT, nowMs: 1_000 }).stream;
  }
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
});

/** The same quiet answer again and again; the clocks are those of the monotonic one, the provider and ourselves. */
function quietLife(committed: StreamPosition) {
  let stream = streamAtStart(0);
  let place = committed;
  return (nowMs: number, providerMs: number, ownMs: number) => {
    const reported: OffsetResponse = {
      kind: 'stream',
      items: 0,
      time: responseTime(providerMs, ownMs),
      ...answer('5-5', '9-9'),
    };
    const step = followStream(stream, place, reported, { ...AT, nowMs });
    [stream, place] = [step.stream, step.position];
    return step;
  };
}

test('after a restart an offset is as old as either clock says, and as it had stood still before', () => {
  const hours = (providerMs: number, ownMs: number, standingMs = 0) =>
    quietLife({ ...position(), standingMs })(0, DAY_MS + providerMs, DAY_MS + ownMs).ageMs / HOUR_MS;
  assert.equal(hours(3 * HOUR_MS, 2 * HOUR_MS), 3);
  assert.equal(hours(-8 * DAY_MS, 2 * HOUR_MS), 2, 'a date that is behind hides nothing');
  assert.equal(hours(2 * HOUR_MS, 2 * HOUR_MS, 5 * HOUR_MS), 7);
  const wasAhead = { ...position(), serverDate: responseTime(9 * DAY_MS, DAY_MS) };
  const { reading } = quietLife(wasAhead)(0, 9 * DAY_MS, 9 * DAY_MS);
  assert.equal(reading, null, 'a date that was ahead when it was committed hides no gap');
});

test('while answers come, the monotonic clock counts; a date that jumps alone is not enough, nor our own clock', () => {
  const answered = quietLife(position());
  answered(0, DAY_MS, DAY_MS);
  assert.equal(answered(HOUR_MS, 9 * DAY_MS, DAY_MS).reading, 'quiet');
  assert.equal(answered(2 * HOUR_MS, DAY_MS, 9 * DAY_MS).ageMs, 2 * HOUR_MS);
  assert.equal(
    answered(2 * HOUR_MS + 0.25, DAY_MS, DAY_MS).position.standingMs,
    2 * HOUR_MS,
    'it becomes part of dates',
  );
  const slept = quietLife(position());
  slept(0, DAY_MS, DAY_MS);
  assert.equal(slept(HOUR_MS, 9 * DAY_MS, 9 * DAY_MS).reading, null, 'a machine that slept: both clocks agree');
});

test('the cliff is seven days from when our offset was known to be served; until an answer comes, by our own clock', () => {
  const cliff = (stream: Stream, place: StreamPosition, nowMs: number, wallMs: number) =>
    secondsToRetentionCliff(stream, place, { nowMs, wallMs }) / 86_400;
  const committed = { ...position(), standingMs: DAY_MS };
  assert.equal(cliff(streamAtStart(0), committed, 0, 3 * DAY_MS), 4);
  assert.equal(cliff(streamAtStart(0), committed, 0, 9 * DAY_MS), -2);
  const { stream, position: after } = quietLife(committed)(0, 2 * DAY_MS, 2 * DAY_MS);
  assert.equal(cliff(stream, after, DAY_MS, 99 * DAY_MS), 4);
});

const MINUTE_MS = 60_000;

test('a 4xx refuses an offset, unless it speaks of credentials, permission or patience', () => {
  for (const status of [400, 404, 410, 413, 418]) assert.equal(refusesOffset(status), true, `${status}`);
  for (const status of [200, 302, 401, 403, 408, 425, 429, 500, 503])
    assert.equal(refusesOffset(status), false, `${status}`);
});

const OURS = '5-5';
const YOUNG: OffsetKnown = { isSuspected: false, isOver: false, ageMs: HOUR_MS, isNoReset: false };
const OLD = { ...YOUNG, ageMs: 6 * HOUR_MS };
const SUSPECTED = { ...YOUNG, isSuspected: true };
const OVER = { ...SUSPECTED, isOver: true };

/** What an empty answer to our offset says. */
function says(known: OffsetKnown, next: string, held?: string): GapSign | null {
  const position = { since: OURS, held: held === undefined ? null : { since: held, heldMs: 0 } };
  const answer = { next, nextId: null };
  return signAgainst(readStreamResponse(OURS, answer, 0), position, answer, known);
}

const QUIET = OURS;

test('an empty response says nothing against a young offset, after hours that a fresh one is better, and after days more', () => {
  assert.equal(says(YOUNG, QUIET), null);
  for (const known of [OLD, SUSPECTED]) assert.equal(says(known, QUIET), 'unmoved');
  for (const held of [undefined, '9-9']) assert.equal(says(OVER, QUIET, held), 'quiet');
  assert.equal(says(YOUNG, QUIET, '9-9'), 'unmoved', 'one that is held may have events');
  assert.equal(says(YOUNG, QUIET, '4-1'), null, 'a provider that was behind is no longer');
});

/** The proof of one source, from its first bad sign on; at each minute a whole round, or what is left of one. */
function proof(sign: GapSign) {
  let doubt: Doubt = NO_DOUBT;
  let held: HeldOffset | null = null;
  const at = { gapProofMs: 5 * MINUTE_MS, offsetHoldMs: DAY_MS, behindLimitMs: HOUR_MS, isSuspected: false };
  let atMinute = 0;
  const self = {
    get doubt() {
      return doubt;
    },
    get held() {
      return held;
    },
    /** An answer to our offset; gives what takes its place. */
    sign(minute: number) {
      const heldMs: number = held === null ? 0 : held.heldMs + (minute - atMinute) * MINUTE_MS;
      atMinute = minute;
      const position = { since: OURS, held: held && { ...held, heldMs } };
      const weighed = weighSign(doubt, sign, position, { ...at, nowMs: minute * MINUTE_MS });
      [doubt, held] = [weighed.doubt, weighed.held];
      return weighed.adopted;
    },
    start(since: string) {
      if (doubt.round?.wants === 'start') doubt = weighStart(doubt, since, OURS, atMinute * MINUTE_MS);
    },
    round(minute: number, since = '9-9') {
      self.sign(minute);
      self.start(since);
      doubt = weighVerified(doubt, { taken: true, items: 0, next: since }, OURS, atMinute * MINUTE_MS);
      return self.sign(minute);
    },
  };
  return self;
}

test('rounds prove nothing within less than the time, nor does time without rounds', () => {
  const early = proof('refused');
  for (const minute of [0, 2.5, 4.9]) assert.equal(early.round(minute), null);
  const idle = proof('refused');
  idle.round(0);
  for (const minute of [10, 20, 60]) assert.equal(idle.sign(minute), null);
});

test('answers that name a lower offset prove nothing where the fresh start does not lie there', () => {
  const lower = proof('lower');
  for (const minute of [0, 3, 6]) assert.equal(lower.round(minute, '5-6'), null);
  assert.equal(lower.held, null);
});

test('an offset is in doubt from the first sign until a round comes to nothing', () => {
  const doubted = proof('lower');
  assert.equal(isOffsetInDoubt(doubted.doubt), false);
  doubted.sign(0);
  assert.equal(isOffsetInDoubt(doubted.doubt), true);
  doubted.start('6-6');
  assert.equal(isOffsetInDoubt(doubted.doubt), false);
  const proven = proof('refused');
  proven.round(0);
  assert.equal(isOffsetInDoubt(proven.doubt), true);
});

test('a clock that was set back does not wipe out the memory of healed gaps', () => {
  assert.throws(() => healedOnceMore([10 * HOUR_MS, 11 * HOUR_MS], 9 * HOUR_MS), { code: 'RETENTION_GAPS_REPEAT' });
});

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
