import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DescribedGroup, headStart } from '../../../src/kafka/head-start.ts';
import { SteppedClock, settle } from './stepped-clock.ts';

const EMPTY = { state: 'Empty', members: [] };
const JOINING = { state: 'PreparingRebalance', members: ['this one'] };

/** A member that is about to join; `now` is what the group is. */
function member(now: DescribedGroup | Promise<never>) {
  const clock = new SteppedClock();
  const joined = new AbortController();
  const seen = { group: now, isKnown: true, taken: 0, confirmed: [] as number[], closed: 0 };
  const begun = headStart({
    open: () => ({ describe: async () => seen.group, close: () => void seen.closed++ }),
    take: () => void seen.taken++,
    confirm: (askedAtMs) => void seen.confirmed.push(askedAtMs),
    isKnown: () => seen.isKnown,
    everyMs: 300,
    patienceMs: 1_000,
    clock,
    signal: joined.signal,
  });
  begun.catch(() => {});
  return { clock, joined, seen, begun };
}

test('a member whose join has not reached the broker is not confirmed by another one that joins', async () => {
  const { clock, joined, seen, begun } = member(EMPTY);
  await begun;
  seen.isKnown = false;
  await clock.advance(300);
  seen.group = JOINING;
  await clock.advance(600);
  assert.deepEqual(seen.confirmed, [0, 300], 'while the group was empty');
  seen.isKnown = true;
  await clock.advance(300);
  assert.deepEqual(seen.confirmed, [0, 300, 1_200]);
  joined.abort();
  await settle();
});

for (const [what, group] of Object.entries<DescribedGroup>({
  'a second member': { state: 'PreparingRebalance', members: ['this one', 'another'] },
  'a group that is complete without it': { state: 'Stable', members: ['another'] },
})) {
  test(`a member that sees ${what} is confirmed no more, and waits for its join`, async () => {
    const { clock, seen, begun } = member(EMPTY);
    await begun;
    seen.group = group;
    await clock.advance(10_000);
    assert.deepEqual([seen.taken, seen.confirmed, seen.closed, clock.sleeping], [1, [0], 1, 0]);
  });
}

test('a group that cannot be asked, or not in time, holds up no join', async () => {
  const refused = member(Promise.reject(new Error('no rights')));
  await assert.rejects(refused.begun, /no rights/);
  const silent = member(new Promise<never>(() => {}));
  await silent.clock.advance(1_000);
  await assert.rejects(silent.begun, /not described within 1000 ms/);
  for (const { seen } of [refused, silent]) assert.deepEqual([seen.taken, seen.confirmed, seen.closed], [0, [], 1]);
});
