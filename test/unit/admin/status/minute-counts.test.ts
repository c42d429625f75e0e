import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MinuteCounts, MOST_MINUTES } from '../../../../src/admin/status/minute-counts.ts';

function countsAt() {
  const time = { nowMs: 123_456 };
  const counts = new MinuteCounts({ monotonicMs: () => time.nowMs });
  const passMinutes = (minutes: number) => {
    time.nowMs += minutes * 60_000;
  };
  return { counts, passMinutes };
}

test('each minute has its count, from the start of the process; the last one is under way', () => {
  const { counts, passMinutes } = countsAt();
  assert.deepEqual(counts.counts(), [0]);
  counts.add(2);
  counts.add(3);
  passMinutes(1);
  assert.deepEqual(counts.counts(), [5, 0]);
  passMinutes(2);
  counts.add(7);
  assert.deepEqual(counts.counts(), [5, 0, 0, 7]);
});

test('only the last four hours are kept, and a longer silence leaves nothing of before', () => {
  const { counts, passMinutes } = countsAt();
  for (let minute = 0; minute < 1_000; minute++) {
    counts.add(minute);
    passMinutes(1);
  }
  const kept = counts.counts();
  assert.equal(kept.length, MOST_MINUTES);
  assert.deepEqual([kept[0], kept.at(-2), kept.at(-1)], [1_000 - MOST_MINUTES + 1, 999, 0]);
  passMinutes(3 * MOST_MINUTES + 17);
  counts.add(4);
  assert.deepEqual(counts.counts(), [...new Array(MOST_MINUTES - 1).fill(0), 4]);
});
