import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backOffMs } from '../../../src/support/back-off.ts';

const backOff = { initialMs: 100, maximumMs: 1_000 };

test('the wait doubles with each failure up to the maximum', () => {
  const longest = [1, 2, 3, 4, 5, 1_000].map((failures) => backOffMs(failures, backOff, () => 1));
  assert.deepEqual(longest, [100, 200, 400, 800, 1_000, 1_000]);
});

test('half of the wait is jitter, so that many clients do not return at once', () => {
  const leastMs = backOffMs(1, backOff, () => 0);
  assert.equal(leastMs, 50);
  const middleMs = backOffMs(1, backOff, () => 0.5);
  assert.equal(middleMs, 75);
});
