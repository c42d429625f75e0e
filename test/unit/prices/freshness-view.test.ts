import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFreshnessView } from '../../../src/prices/freshness.ts';

const KINDS = [{ kind: 'overview', refreshIntervalMs: 60_000 }] as const;

type Tasks = ReturnType<Parameters<typeof createFreshnessView>[0]>;

/** Tasks with many instruments, of which each pass is counted. */
function manyInstruments(count: number) {
  const counted = { looks: 0, passes: 0 };
  const plan = () => ({ isPriced: true, sinceMs: 1_000, pulled: false, problem: null });
  const rows = function* () {
    counted.passes += 1;
    for (let n = 0; n < count; n++) {
      counted.looks += 1;
      yield n;
    }
  };
  const core = { instruments: { size: count, rows, plan }, stateOf: () => 'priced', unanswered: 0 };
  const tasks = [{ core, lag: 0, unreadable: 0 }] as unknown as Tasks;
  return { tasks, counted };
}

test('a pass over a hundred thousand instruments leaves other work its turn all the time', async () => {
  const { tasks, counted } = manyInstruments(100_000);
  const view = createFreshnessView(() => tasks, KINDS, { monotonicMs: () => 61_000 });
  let isOver = false;
  const refreshed = view.refreshed().then(() => {
    isOver = true;
  });
  const looksInOneTurn: number[] = [];
  for (let before = 0; !isOver; ) {
    await new Promise((resolve) => setImmediate(resolve));
    looksInOneTurn.push(counted.looks - before);
    before = counted.looks;
  }
  await refreshed;
  assert.ok(Math.max(...looksInOneTurn) <= 4_000, `${Math.max(...looksInOneTurn)} of 100,000 in one turn`);
  const { instruments, priced, ageP99Ms, overdue } = view.newest();
  assert.deepEqual([instruments, priced, ageP99Ms, overdue], [100_000, 100_000, 60_000, 0]);
});

test('however many ask, a pass is made once a second, and none while nobody asks', async () => {
  const { tasks, counted } = manyInstruments(10_000);
  let nowMs = 0;
  const view = createFreshnessView(() => tasks, KINDS, { monotonicMs: () => nowMs });
  for (const second of [1, 2, 3]) {
    for (nowMs = second * 2_000; nowMs < second * 2_000 + 1_000; nowMs += 20) {
      await Promise.all([1, 2, 3].map(() => view.refreshed()));
      view.newest();
    }
    assert.equal(counted.passes, second);
  }
});

test('ages are rounded up, the more the older, and never below the true one', () => {
  const ages = [1, 99, 101, 59_901, 60_001, 3_599_001, 3_600_001];
  const instruments = {
    size: ages.length,
    rows: () => ages.keys(),
    plan: (row: number) => ({ isPriced: true, sinceMs: 10_000_000 - (ages[row] ?? 0), pulled: false, problem: null }),
  };
  const core = { instruments, stateOf: () => 'priced', unanswered: 0 };
  const tasks = [{ core, lag: 0, unreadable: 0 }] as unknown as Tasks;
  const fresh = createFreshnessView(() => tasks, KINDS, { monotonicMs: () => 10_000_000 }).newest();
  const counts = fresh.ages.map(({ atMostMs, instruments: count }) => [atMostMs / 1_000, count]);
  assert.deepEqual(
    counts.filter(([bound]) => [1, 60, 120, 3_600, Number.POSITIVE_INFINITY].includes(bound ?? 0)),
    [
      [1, 3],
      [60, 4],
      [120, 5],
      [3_600, 6],
      [Number.POSITIVE_INFINITY, 7],
    ],
  );
  assert.deepEqual([fresh.ageP50Ms, fresh.ageMaxMs], [60_000, 3_660_000]);
});
