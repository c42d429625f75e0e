import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMinuteSummary } from '../../../src/observability/minute-summary.ts';

test('what happens often is one line a minute for each name, and none while nothing happens', () => {
  const lines: unknown[] = [];
  const timers: { readonly ms: number; readonly action: () => void }[] = [];
  const summary = createMinuteSummary(
    (of, sums) => lines.push([of, { ...sums }]),
    (ms, action) => timers.push({ ms, action }),
  );
  for (let n = 0; n < 220; n++) summary.add('a', { batches: 1, events: 2 });
  summary.add('b', { batches: 1, checks: 5 });
  assert.deepEqual([lines.length, timers.map(({ ms }) => ms)], [0, [60_000]]);
  timers[0]?.action();
  assert.deepEqual(lines, [
    ['a', { batches: 220, events: 440 }],
    ['b', { batches: 1, checks: 5 }],
  ]);
  assert.equal(timers.length, 1);
  summary.add('a', { batches: 1, events: 1 });
  assert.equal(timers.length, 2);
  // The end does not wait for the minute.
  summary.report();
  timers[1]?.action();
  assert.deepEqual(lines.slice(2), [['a', { batches: 1, events: 1 }]]);
});
