import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
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
  hasReached,
  isNewestLower,
  namesMore,
  readStreamResponse,
  type StreamResponse,
} from '../../../../src/sources/stream/stream-response.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
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

test('an answer says that there is more when its newest offset lies beyond its cursor', () => {
  assert.deepEqual(
    [namesMore(answer('6-1', '7-1')), namesMore(answer('6-1')), namesMore(answer('6-1', null))],
    [true, false, false],
  );
  assert.deepEqual([hasReached(answer('6-1'), '6-1'), hasReached(answer('6-1'), '7-1')], [true, false]);
  assert.deepEqual([hasReached(answer('6-1'), null), hasReached(answer('abc'), 'abd')], [false, false]);
  assert.equal(isNewestLower('5-5', answer('5-5', '4-1')), true);
  assert.equal(isNewestLower('5-5', answer('5-5', null)), false);
});

const position = (gapSuspectedFromMs: number | null = null) => ({
  since: '5-5',
  serverDate: responseTime(DAY_MS, DAY_MS),
  standingMs: 0,
  standingLeastMs: 0,
  gapSuspectedFromMs,
  held: null,
});

function follow(given: StreamResponse | 'refused', options: { events?: number; awayMs?: number; from?: number } = {}) {
  const time = responseTime(null, DAY_MS + (options.awayMs ?? 1_000));
  const reported: OffsetResponse = given === 'refused' ? { kind: 'refused', time } : { kind: 'events', time, ...given };
  return followStream(streamAtStart(0), position(options.from ?? null), reported, {
    nowMs: 1_000,
    pollIntervalMs: 30_000,
    gapProofMs: 300_000,
    offsetHoldMs: DAY_MS,
    behindLimitMs: HOUR_MS,
    events: options.events ?? 0,
  });
}

test('a taken answer moves the position, and its date with the clock that it is from', () => {
  const { position: after, reading } = follow(answer('6-1'), { events: 1 });
  assert.equal(reading, 'moved');
  assert.deepEqual(after, { ...position(), since: '6-1', serverDate: responseTime(null, DAY_MS + 1_000) });
});

for (const given of ['refused', answer('4-1')] as const) {
  test(`an answer that is not taken moves nothing (${typeof given === 'string' ? given : 'lower'})`, () => {
    const { position: after, reading, discarded, stream } = follow(given);
    assert.equal(reading, null);
    assert.notEqual(discarded, null);
    assert.deepEqual(after, position());
    assert.equal(stream.takenMs, null);
  });
}

test('the next request comes at once, soon or at the interval, as the answer says', () => {
  const pause = (given: StreamResponse | 'refused', events = 1) => follow(given, { events }).stream.dueMs - 1_000;
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
    const reported: OffsetResponse = { kind: 'events', time, next, nextId: newest(at) ?? next };
    const step = followStream(stream, place, reported, {
      nowMs: 0,
      pollIntervalMs: 30_000,
      gapProofMs: 300_000,
      offsetHoldMs: DAY_MS,
      behindLimitMs: HOUR_MS,
      events,
    });
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
    const at = {
      nowMs: 1_000,
      pollIntervalMs: 30_000,
      gapProofMs: 300_000,
      offsetHoldMs: DAY_MS,
      behindLimitMs: HOUR_MS,
      events: 0,
    };
    stream = followStream(stream, position(), { kind: 'refused', time }, at).stream;
  }
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
});

test('after long silence a refusal leaves a gap suspected, and our offset as it is', () => {
  const { suspects, position: after } = follow('refused', { awayMs: 8 * DAY_MS });
  assert.deepEqual([suspects, after.since, after.gapSuspectedFromMs], [true, '5-5', DAY_MS]);
});

test('after long silence nothing is not taken before a fresh start has come: it may be our offset', () => {
  for (const given of [answer('5-5'), answer('5-5', '9-9')]) {
    const { suspects, reading, position: after, stream } = follow(given, { awayMs: 8 * DAY_MS });
    assert.deepEqual([suspects, reading, after, stream.doubt.round?.wants], [false, null, position(), 'start']);
  }
});

test('after long silence events are taken, a gap is reported, and the offset counts as served', () => {
  const { suspects, position: after, reading } = follow(answer('6-1'), { awayMs: 8 * DAY_MS, events: 1 });
  assert.deepEqual([suspects, reading, after.since, after.gapSuspectedFromMs], [true, 'moved', '6-1', null]);
});

test('a quiet answer counts against our offset only once it stood still for longer than events are kept by all clocks', () => {
  assert.equal(follow(answer('5-5')).stream.doubt.sign, null);
  const { stream } = follow(answer('5-5'), { awayMs: 7 * DAY_MS + 1 });
  assert.equal(stream.doubt.sign, 'quiet');
  const { stream: suspected, suspects } = follow(answer('5-5'), { from: 1 });
  assert.equal(suspects, false, 'it is reported once');
  assert.equal(suspected.doubt.sign, 'unmoved', 'a fresh one is held beside it');
  assert.equal(follow(answer('5-5', '4-1')).stream.doubt.sign, 'lower', 'a lower newest offset counts at any time');
});

test('it has caught up when an answer was taken, there is no more, and nothing speaks against our offset', () => {
  const caughtUp = (...given: Parameters<typeof follow>) => follow(...given).stream.caughtUp;
  assert.equal(streamAtStart(0).caughtUp, false);
  assert.equal(caughtUp(answer('6-1'), { events: 1 }), false, 'it may be one of many such answers');
  assert.equal(caughtUp(answer('5-5')), true);
  assert.equal(caughtUp(answer('6-1', '7-1'), { events: 1 }), false);
  assert.equal(caughtUp(answer('4-1')), false);
  assert.equal(caughtUp('refused'), false);
  assert.equal(caughtUp(answer('5-5'), { awayMs: 8 * DAY_MS }), false);
});

/** The same quiet answer again and again; the clocks are those of the monotonic one, the provider and ourselves. */
function quietLife(committed: StreamPosition) {
  let stream = streamAtStart(0);
  let place = committed;
  return (nowMs: number, providerMs: number, ownMs: number) => {
    const reported: OffsetResponse = { kind: 'events', time: responseTime(providerMs, ownMs), ...answer('5-5', '9-9') };
    const at = {
      nowMs,
      pollIntervalMs: 30_000,
      gapProofMs: 300_000,
      offsetHoldMs: DAY_MS,
      behindLimitMs: HOUR_MS,
      events: 0,
    };
    const step = followStream(stream, place, reported, at);
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

test('an offset that stands still asks for a fresh one after six hours, and is given up once it has expired', () => {
  const answered = quietLife(position());
  answered(0, DAY_MS, DAY_MS);
  assert.equal(answered(6 * HOUR_MS - 1, DAY_MS, DAY_MS).stream.doubt.sign, null);
  const { stream } = answered(6 * HOUR_MS, DAY_MS, DAY_MS);
  const { sign, round } = stream.doubt;
  assert.deepEqual([round?.wants, sign, stream.caughtUp], ['start', 'unmoved', true]);
  assert.equal(answered(6.5 * DAY_MS, DAY_MS, DAY_MS).reading, 'quiet');
  const late = answered(6.5 * DAY_MS + 1, DAY_MS, DAY_MS);
  assert.deepEqual([late.reading, late.stream.doubt.sign], [null, 'unmoved']);
  assert.equal(answered(7 * DAY_MS, DAY_MS, DAY_MS).stream.doubt.sign, 'unmoved');
  assert.equal(answered(7 * DAY_MS + 1, DAY_MS, DAY_MS).stream.doubt.sign, 'quiet');
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

test('what speaks against our offset is reported, answers that hold nothing included; a stream that is merely quiet is not', () => {
  assert.equal(follow('refused').discarded, 'refused');
  assert.equal(follow(answer('4-9')).discarded, 'lower');
  assert.equal(follow(answer('5-5'), { events: 2 }).discarded, 'stuck');
  assert.equal(follow(answer('5-5', '4-1')).discarded, 'lower', 'the newest offset lies before ours');
  assert.equal(follow(answer('5-5'), { awayMs: 8 * DAY_MS }).discarded, 'quiet');
  assert.equal(follow(answer('5-5')).discarded, null);
  assert.equal(follow(answer('5-5'), { awayMs: 7 * HOUR_MS }).discarded, null, 'it merely stands still');
  assert.equal(follow(answer('6-1'), { awayMs: 8 * DAY_MS, events: 1 }).discarded, null);
});
