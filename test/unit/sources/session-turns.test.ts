import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionTurns } from '../../../src/sources/offset-partition.ts';
import { SteppedClock, settle } from '../kafka/stepped-clock.ts';

const { signal } = new AbortController();

test('a session that is to end waits for the turns under way, and lets no other begin', async () => {
  const [turns, clock, ends] = [new SessionTurns(), new SteppedClock(), new AbortController()];
  await turns.begin(signal);
  await turns.begin(signal);
  const seen: string[] = [];
  turns.over(clock, 10_000, signal).then(() => seen.push('over'));
  turns.begin(ends.signal).then(
    () => seen.push('begun'),
    () => seen.push('ended'),
  );
  turns.end();
  await settle();
  assert.deepEqual(seen, []);
  turns.end();
  await settle();
  assert.deepEqual(seen, ['over']);
  ends.abort(new Error('the session has ended'));
  await settle();
  assert.deepEqual([seen, clock.sleeping], [['over', 'ended'], 0]);
});

test('a turn that does not end is waited for a while, and none at all when nothing is under way', async () => {
  const [turns, clock] = [new SessionTurns(), new SteppedClock()];
  await turns.over(clock, 10_000, signal);
  const slow = new SessionTurns();
  await slow.begin(signal);
  let isOver = false;
  slow.over(clock, 10_000, signal).then(() => {
    isOver = true;
  });
  await clock.advance(9_999);
  assert.equal(isOver, false);
  await clock.advance(1);
  assert.equal(isOver, true);
});
