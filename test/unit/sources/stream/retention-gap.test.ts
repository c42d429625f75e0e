import assert from 'node:assert/strict';
import { test } from 'node:test';
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
import { readStreamResponse } from '../../../../src/sources/stream/stream-response.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
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
