import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeadLetterShare } from '../../../../src/sources/tasks/dead-letter-share.ts';

const rows = (good: number, dead: number) => [
  ...Array.from({ length: good }, () => ({ kind: 'record' })),
  ...Array.from({ length: dead }, () => ({ kind: 'failure', pointer: '/issuePrice', reason: 'it is text' })),
];

/** How many answers of one size are taken until there are too many dead letters. */
function takenUntilTooMany(share: DeadLetterShare, good: number, dead: number): number {
  for (let taken = 0; taken < 5_000; taken++) {
    try {
      share.check(rows(good, dead), `events?since=${taken}-0`);
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'TOO_MANY_DEAD_LETTERS');
      return taken;
    }
  }
  return Number.POSITIVE_INFINITY;
}

test('a stream whose events come one by one stops after twenty dead letters, where there is little else', () => {
  assert.equal(takenUntilTooMany(new DeadLetterShare(0.05), 0, 1), 20);
});

test('after a thousand good events one in twenty may be dead', () => {
  const share = new DeadLetterShare(0.05);
  assert.equal(takenUntilTooMany(share, 20, 0), Number.POSITIVE_INFINITY);
  assert.equal(takenUntilTooMany(share, 0, 1), 50);
  assert.equal(takenUntilTooMany(new DeadLetterShare(0.05), 19, 1), Number.POSITIVE_INFINITY);
  assert.ok(takenUntilTooMany(new DeadLetterShare(0.05), 17, 1) < 60);
});

test('one answer with too many stops it, however good those before were', () => {
  const share = new DeadLetterShare(0.05);
  takenUntilTooMany(share, 1_000, 0);
  const says = /21 of 121 rows of events\?since=9-9 do not map.*at \/issuePrice/;
  assert.throws(() => share.check(rows(100, 21), 'events?since=9-9'), says);
});

test('an answer that is asked for again counts once, and empty or good ones stop nothing', () => {
  const share = new DeadLetterShare(0.05);
  for (let times = 0; times < 100; times++) share.check(rows(0, 15), 'events?since=1-0');
  share.check(rows(0, 5), 'events?since=2-0');
  share.check([], 'events?since=3-0');
  share.check(rows(1, 0), 'events?since=3-0');
  assert.throws(() => share.check(rows(0, 1), 'events?since=4-0'), /21 of 22 recent rows/);
});
