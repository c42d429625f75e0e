import assert from 'node:assert/strict';
import { test } from 'node:test';
import { minuteBars, spanText } from '../../../../src/admin/drawing/minute-bars.ts';

test('the drawing goes back as far as the process is old, in at most sixty bars', () => {
  const shape = (minutes: number) => {
    const { spanMinutes, minutesPerBar, slots, rates } = minuteBars(new Array(minutes + 1).fill(6));
    return [spanMinutes, minutesPerBar, slots, rates.length];
  };
  assert.deepEqual(shape(0), [30, 1, 30, 0]);
  assert.deepEqual(shape(30), [30, 1, 30, 30]);
  assert.deepEqual(shape(31), [60, 1, 60, 31]);
  assert.deepEqual(shape(61), [120, 2, 60, 31]);
  assert.deepEqual(shape(239), [240, 4, 60, 60]);
});

test('a bar is the mean of its whole minutes, and the minute under way is none of them', () => {
  const perMinute = [...new Array(60).fill(0), 1, 2, 3, 900];
  const { rates, minutesPerBar } = minuteBars(perMinute);
  assert.equal(minutesPerBar, 2);
  // Counted from the end: the first bar has one minute.
  assert.deepEqual(rates.slice(-2), [0.5, 2.5]);
  assert.equal(rates.length, 32);
});

test('the sentence says how much there was and since when', () => {
  assert.equal(minuteBars([12]).text, '12 so far, in the first minute since the start');
  assert.equal(
    minuteBars([1, 4, 0, 5]).text,
    '0 in the last minute; 1.7 on average and at most 4 since the start 3 min ago',
  );
  assert.equal(minuteBars([0, 0]).text, 'none since the start 1 min ago');
  assert.equal(
    minuteBars(new Array(240).fill(2_000)).text,
    '2,000 in the last minute; 2,000 on average and at most 2,000 in 4 h',
  );
  assert.equal(spanText(80), '1 h 20 min');
});
