import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Sample, trendsOf } from '../../campaign/trends.ts';

const MINUTES = 40;

/** One sample a minute; a number for each measure at that minute. */
function samples(rssMiB: (minute: number) => number, timers: (minute: number) => number): Sample[] {
  return Array.from({ length: MINUTES }, (_, minute) => ({
    atMs: minute * 60_000,
    usage: { rssMiB: rssMiB(minute), heapMiB: 40 + (minute % 5), sockets: 12, timers: timers(minute), handles: 30 },
  }));
}
const leaks = (own: readonly Sample[]) =>
  trendsOf('replica', own)
    .filter(({ isLeak }) => isLeak)
    .map(({ measure }) => measure);

test('a process that warms up and then holds what it has leaks nothing, peaks or not', () => {
  const rss = (minute: number) => (minute < 8 ? 80 + 10 * minute : 150) + (minute % 7 === 0 ? 60 : 0);
  assert.deepEqual(leaks(samples(rss, () => 20)), []);
});

test('a process that grows steadily leaks, and the measure is named', () => {
  assert.deepEqual(
    leaks(
      samples(
        (minute) => 100 + 2 * minute,
        () => 20,
      ),
    ),
    ['rssMiB'],
  );
  assert.deepEqual(
    leaks(
      samples(
        () => 100,
        (minute) => 20 + minute,
      ),
    ),
    ['timers'],
  );
});

test('what a short life gains is no leak yet', () => {
  assert.deepEqual(
    leaks(
      samples(
        (minute) => 100 + 20 * minute,
        () => 20,
      ).slice(0, 5),
    ),
    [],
  );
});
