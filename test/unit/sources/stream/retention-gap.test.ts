import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Doubt,
  type GapSign,
  type HeldOffset,
  healedOnceMore,
  isGapSuspected,
  isOffsetInDoubt,
  NO_DOUBT,
  namesLower,
  type OffsetKnown,
  refusesOffset,
  signAgainst,
  weighSign,
  weighStart,
  weighVerified,
} from '../../../../src/sources/stream/retention-gap.ts';
import { readStreamResponse } from '../../../../src/sources/stream/stream-response.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;

test('a gap is suspected behind an offset of which nothing was known for more than six and a half days', () => {
  assert.equal(isGapSuspected(6.5 * DAY_MS), false);
  assert.equal(isGapSuspected(6.5 * DAY_MS + 1), true);
});

for (const status of [400, 404, 410, 413, 418]) {
  test(`${status} refuses an offset`, () => assert.equal(refusesOffset(status), true));
}
for (const status of [200, 302, 401, 403, 408, 425, 429, 500, 503]) {
  test(`${status} says nothing about an offset`, () => assert.equal(refusesOffset(status), false));
}

const OURS = '5-5';
const YOUNG: OffsetKnown = { isSuspected: false, isOver: false, ageMs: HOUR_MS, isNoReset: false };
const OLD = { ...YOUNG, ageMs: 6 * HOUR_MS };
const SUSPECTED = { ...YOUNG, isSuspected: true };
const OVER = { ...SUSPECTED, isOver: true };

/** What an answer to our offset says: where it goes on, and the newest offset that it names. */
function says(
  known: OffsetKnown,
  answer: 'refused' | { next: string; nextId?: string; events?: number },
  held?: string,
): GapSign | null {
  const position = { since: OURS, held: held === undefined ? null : { since: held, heldMs: 0 } };
  if (answer === 'refused') return signAgainst('refused', position, null, known);
  const { next, nextId = null, events = 0 } = answer;
  return signAgainst(readStreamResponse(OURS, { next, nextId }, events), position, { next, nextId }, known);
}

const QUIET = { next: OURS };

test('an offset that moves on is well, whatever is suspected, and whatever else the response names', () => {
  for (const known of [YOUNG, OLD, OVER]) assert.equal(says(known, { next: '6-1', nextId: '1-1' }), null);
});

test('a refusal, events at the same place and a lower place speak against it, however young it is', () => {
  assert.equal(says(YOUNG, 'refused'), 'refused');
  assert.equal(says(YOUNG, { next: OURS, events: 3 }), 'stuck');
  assert.equal(says(YOUNG, { next: '4-1' }), 'lower');
});

test('an empty response says nothing against a young offset, after hours that a fresh one is better, and after days more', () => {
  assert.equal(says(YOUNG, QUIET), null);
  for (const known of [OLD, SUSPECTED]) assert.equal(says(known, QUIET), 'unmoved');
  for (const held of [undefined, '9-9']) assert.equal(says(OVER, QUIET, held), 'quiet');
  assert.equal(says(YOUNG, QUIET, '9-9'), 'unmoved', 'one that is held may have events');
  assert.equal(says(YOUNG, QUIET, '4-1'), null, 'a provider that was behind is no longer');
});

test('a newest offset below ours is a sign, unless a fresh start lately did not lie there', () => {
  const answer = { next: OURS, nextId: '2-2' };
  assert.equal(says(YOUNG, answer), 'lower');
  assert.equal(says({ ...YOUNG, isNoReset: true }, answer), null);
  assert.equal(says({ ...YOUNG, isNoReset: true }, { next: '4-1' }), 'lower', 'it would take us back');
  assert.equal(says({ ...OVER, isNoReset: true }, { next: '4-1' }), 'quiet', 'its lowest, for what it lost');
  assert.equal(namesLower('moved', OURS, { next: '6-1', nextId: '1-1' }), false);
});

/** The proof of one source, from its first bad sign on; at each minute a whole round, or what is left of one. */
function proof(sign: GapSign, known: { isSuspected?: boolean } = {}) {
  let doubt: Doubt = NO_DOUBT;
  let held: HeldOffset | null = null;
  const at = { gapProofMs: 5 * MINUTE_MS, offsetHoldMs: DAY_MS, behindLimitMs: HOUR_MS, isSuspected: false, ...known };
  let atMinute = 0;
  const self = {
    get doubt() {
      return doubt;
    },
    get held() {
      return held;
    },
    /** An answer to our offset; gives what takes its place. */
    sign(minute: number, of: GapSign | null = sign) {
      const heldMs: number = held === null ? 0 : held.heldMs + (minute - atMinute) * MINUTE_MS;
      atMinute = minute;
      const position = { since: OURS, held: held && { ...held, heldMs } };
      const weighed = weighSign(doubt, of, position, { ...at, nowMs: minute * MINUTE_MS });
      [doubt, held] = [weighed.doubt, weighed.held];
      return weighed.adopted;
    },
    start(since: string) {
      if (doubt.round?.wants === 'start') doubt = weighStart(doubt, since, OURS, atMinute * MINUTE_MS);
    },
    verified(taken: boolean, items = 0, next: string | null = null) {
      doubt = weighVerified(doubt, { taken, items, next }, OURS, atMinute * MINUTE_MS);
    },
    round(minute: number, since = '9-9', items = 0) {
      self.sign(minute);
      self.start(since);
      self.verified(true, items, since);
      return self.sign(minute);
    },
  };
  return self;
}

for (const kind of ['refused', 'quiet', 'stuck'] as const) {
  test(`rounds of "${kind}" over five minutes prove a gap, and the stream goes on at the first fresh start`, () => {
    const proven = proof(kind);
    assert.equal(proven.round(0, '7-7'), null);
    assert.equal(proven.round(3, '8-8'), null);
    assert.deepEqual(proven.round(6), { since: '7-7', heldMs: 6 * MINUTE_MS, why: kind });
  });
}

test('rounds prove nothing within less than the time, nor does time without rounds', () => {
  const early = proof('refused');
  for (const minute of [0, 2.5, 4.9]) assert.equal(early.round(minute), null);
  const idle = proof('refused');
  idle.round(0);
  for (const minute of [10, 20, 60]) assert.equal(idle.sign(minute), null);
});

test('a round needs all of it: a fresh start that differs, and 200 for it', () => {
  const proven = proof('refused');
  proven.round(0);
  proven.sign(3);
  proven.start(OURS);
  assert.deepEqual([proven.doubt.round, proven.doubt.firstMs], [null, null]);
  proven.sign(6);
  proven.start('9-9');
  proven.verified(false);
  assert.deepEqual([proven.doubt.round, proven.doubt.firstMs], [null, null]);
  assert.equal(proven.round(9), null);
  assert.ok(proven.round(14));
});

test('an answer as it should be ends all suspicion, and another sign begins again', () => {
  const well = proof('refused');
  well.round(0);
  well.sign(3, null);
  assert.deepEqual([well.doubt, well.held], [NO_DOUBT, null]);
  const other = proof('refused');
  other.round(0);
  other.sign(6, 'stuck');
  assert.deepEqual([other.doubt.round?.wants, other.doubt.firstMs], ['start', null]);
});

test('a fresh start that lies before ours is held for an hour, whatever the sign', () => {
  for (const kind of ['refused', 'quiet', 'stuck', 'lower', 'unmoved'] as const) {
    const behind = proof(kind);
    for (let minute = 0; minute < 60; minute += 3) assert.equal(behind.round(minute, '4-4'), null, `${kind} ${minute}`);
    assert.equal(behind.round(60, '4-5')?.since, '4-4', kind);
  }
});

test('a lower start counts once the stream was read from there to its end, and not where that lies behind ours', () => {
  const behind = proof('lower');
  behind.sign(0);
  behind.start('4-4');
  for (const next of ['4-5', '4-9']) {
    behind.verified(true, 2, next);
    const { round } = behind.doubt;
    assert.ok(round?.wants === 'verify');
    assert.equal(round.at, next);
  }
  behind.verified(true, 0, '4-9');
  assert.equal(behind.doubt.round?.wants, 'sign');
  const lagging = proof('unmoved');
  lagging.sign(0);
  lagging.start('4-4');
  lagging.verified(true, 2, OURS);
  assert.equal(lagging.doubt.round, null);
});

test('answers that name a lower offset prove nothing where the fresh start does not lie there', () => {
  const lower = proof('lower');
  for (const minute of [0, 3, 6]) assert.equal(lower.round(minute, '5-6'), null);
  assert.equal(lower.held, null);
});

test('an offset that stands still gives way after a day, or in minutes once the one that is held has events', () => {
  const still = proof('unmoved');
  assert.equal(still.round(0), null);
  assert.equal(still.sign(DAY_MS / MINUTE_MS - 1), null);
  assert.equal(still.sign(DAY_MS / MINUTE_MS)?.why, 'unmoved');
  const overtaken = proof('unmoved');
  for (const minute of [0, 3]) assert.equal(overtaken.round(minute, '9-9', 1), null);
  assert.equal(overtaken.round(6, '9-9', 1)?.why, 'overtaken');
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

test('a third gap within a day stops the source; a day later one heals again', () => {
  const twice = healedOnceMore(healedOnceMore([], DAY_MS), 2 * DAY_MS - 2);
  assert.deepEqual(twice, [DAY_MS, 2 * DAY_MS - 2]);
  assert.throws(() => healedOnceMore(twice, 2 * DAY_MS - 1), {
    code: 'RETENTION_GAPS_REPEAT',
    action: 'stopSource',
  });
  assert.deepEqual(healedOnceMore(twice, 2 * DAY_MS), [2 * DAY_MS - 2, 2 * DAY_MS]);
});

test('a clock that was set back does not wipe out the memory of healed gaps', () => {
  assert.throws(() => healedOnceMore([10 * HOUR_MS, 11 * HOUR_MS], 9 * HOUR_MS), { code: 'RETENTION_GAPS_REPEAT' });
});
