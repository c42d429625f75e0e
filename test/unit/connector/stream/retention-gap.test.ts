import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type GapInput,
  type GapProof,
  type GapSign,
  healedOnceMore,
  isGapSuspected,
  isOffsetInDoubt,
  NO_PROOF,
  refusesOffset,
  weighGap,
} from '../../../../src/connector/stream/retention-gap.ts';

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

/** Weighs inputs one after the other, each at its minute. */
function weigh(inputs: readonly (readonly [minute: number, input: GapInput])[]): GapProof {
  return inputs.reduce(
    (proof, [minute, input]) => weighGap(proof, input, { nowMs: minute * MINUTE_MS, gapProofMs: 5 * MINUTE_MS }),
    NO_PROOF,
  );
}

const sign = (kind: Exclude<GapSign, 'overtaken'>): GapInput => ({ kind: 'sign', sign: kind });
const start = (since: string, askedMinute = Number.POSITIVE_INFINITY): GapInput => ({
  kind: 'start',
  since,
  ours: '5-5',
  askedMs: askedMinute * MINUTE_MS,
});
const taken: GapInput = { kind: 'startVerified', items: 0 };

function round(minute: number, kind: Exclude<GapSign, 'overtaken'>, since = '9-9') {
  return [
    [minute, sign(kind)],
    [minute, start(since)],
    [minute, taken],
    [minute, sign(kind)],
  ] as const;
}

for (const kind of ['refused', 'quiet', 'stuck'] as const) {
  test(`three rounds of "${kind}" over five minutes prove a gap, and it goes on at the first fresh start`, () => {
    const proof = weigh([...round(0, kind, '7-7'), ...round(3, kind, '8-8'), ...round(6, kind)]);
    assert.equal(proof.phase, 'proven');
    assert.equal(proof.start, '7-7');
  });
}

test('two rounds prove nothing, however long they take, nor do three within less than the time', () => {
  assert.equal(weigh([...round(0, 'refused'), ...round(60, 'refused')]).phase, 'resting');
  assert.equal(weigh([...round(0, 'refused'), ...round(2.5, 'refused'), ...round(4.9, 'refused')]).rounds, 2);
});

test('a round needs all of it: a fresh start that differs, and 200 for it', () => {
  const same = [
    [0, sign('refused')],
    [0, start('5-5')],
  ] as const;
  assert.equal(weigh(same).phase, 'resting');
  assert.equal(weigh([...round(0, 'refused'), ...round(3, 'refused'), ...same]).rounds, 2);
  const refused = [
    [6, sign('refused')],
    [6, start('9-9')],
    [6, { kind: 'startRefused' }],
  ] as const;
  assert.equal(weigh([...round(0, 'refused'), ...round(3, 'refused'), ...refused]).rounds, 0);
});

test('lower offsets prove a reset only if the fresh start is lower too', () => {
  const lower = (since: string) => weigh([0, 3, 6].flatMap((minute) => [...round(minute, 'lower', since)]));
  assert.equal(lower('4-9').phase, 'proven');
  assert.equal(lower('5-6').phase, 'resting');
  assert.equal(lower('5-6').rounds, 0);
});

test('an answer as it should be ends all suspicion, and another sign begins again', () => {
  const twoRounds = [...round(0, 'refused'), ...round(3, 'refused')];
  assert.deepEqual(weigh([...twoRounds, [6, { kind: 'healthy' }]]), NO_PROOF);
  const other = weigh([...twoRounds, [6, sign('stuck')]]);
  assert.deepEqual([other.phase, other.rounds], ['wantsStart', 0]);
});

test('an offset is in doubt from the first sign until a round comes to nothing', () => {
  assert.equal(isOffsetInDoubt(NO_PROOF), false);
  assert.equal(isOffsetInDoubt(weigh([[0, sign('lower')]])), true);
  assert.equal(isOffsetInDoubt(weigh(round(0, 'lower', '1-1'))), true);
  assert.equal(
    isOffsetInDoubt(
      weigh([
        [0, sign('lower')],
        [0, start('6-6')],
      ]),
    ),
    false,
  );
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

test('a fresh start that was asked for before the sign came is not the one of the round', () => {
  const early = weigh([
    [5, sign('lower')],
    [6, start('3-3', 4)],
  ]);
  assert.deepEqual([early.phase, early.start], ['wantsStart', null]);
  const late = weigh([
    [5, sign('lower')],
    [6, start('3-3', 5)],
  ]);
  assert.deepEqual([late.phase, late.start], ['wantsVerify', '3-3']);
});
