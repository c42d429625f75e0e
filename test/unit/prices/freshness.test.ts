import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PartitionCore } from '../../../src/prices/core/partition-core.ts';
import { createFreshnessView } from '../../../src/prices/freshness.ts';
import { NO_TERMS } from '../../../src/records/avro/instrument-terms.ts';
import { answerAll, coreSettings, PRICED, problem } from '../../support/priced-core.ts';

const KINDS = [{ kind: 'overview', refreshIntervalMs: 60_000 }] as const;
const BOTH_KINDS = [...KINDS, { kind: 'daily', refreshIntervalMs: 20_000 }] as const;

type Given = Parameters<typeof createFreshnessView>;

const freshnessOf = (tasks: ReturnType<Given[0]>, kinds: Given[1], nowMs: number) =>
  createFreshnessView(() => tasks, kinds, { monotonicMs: () => nowMs }).newest();

/** A core that has priced instruments 0 to 9 at 1,000 ms; 3 fails, 4 is pulled, 10 has no isin, 11 is not asked for yet. */
function core(kinds: typeof KINDS | typeof BOTH_KINDS = KINDS): PartitionCore {
  const made = new PartitionCore(coreSettings({ kinds }), { offset: 0n, instruments: [] }, 0);
  for (let id = 0; id < 10; id++)
    made.read(BigInt(id), String(id), { kind: 'live', isin: `isin-${id}`, terms: NO_TERMS }, 0);
  made.read(10n, '10', { kind: 'live', isin: null, terms: NO_TERMS }, 0);
  const ask = made.next(0);
  assert.ok(ask.kind === 'ask');
  answerAll(made, ask.batch, (id) => (id === '3' ? problem(404) : { ...PRICED, isQuotingPulled: id === '4' }));
  let commit = made.next(0);
  // Another kind is asked for meanwhile, and gets no answer.
  while (commit.kind === 'ask') commit = made.next(0);
  assert.ok(commit.kind === 'commit');
  made.committed(commit.transaction, 1_000);
  made.read(11n, '11', { kind: 'live', isin: 'isin-11', terms: NO_TERMS }, 1_000);
  return made;
}

test('freshness reports ages, what is overdue, pulled and failing, and what waits', () => {
  const tasks = [
    { core: core(), lag: 3, unreadable: 2 },
    { core: null, lag: 4, unreadable: 0 },
  ];
  const { kinds, ...young } = freshnessOf(tasks, KINDS, 11_000);
  assert.equal(kinds.length, 1);
  assert.deepEqual(
    {
      ...young,
      ages: young.ages.filter(({ atMostMs }) => [5_000, 10_000, Number.POSITIVE_INFINITY].includes(atMostMs)),
    },
    {
      kind: 'overview',
      instruments: 11,
      unreadable: 2,
      priced: 9,
      waiting: 1,
      repaid: 0,
      ageP50Ms: 10_000,
      ageP99Ms: 10_000,
      ageMaxMs: 10_000,
      ages: [
        { atMostMs: 5_000, instruments: 0 },
        { atMostMs: 10_000, instruments: 9 },
        { atMostMs: Number.POSITIVE_INFINITY, instruments: 9 },
      ],
      overdue: 0,
      pulled: 1,
      failing: { 'status 404': 1 },
      unansweredInputs: 1,
      lag: 7,
    },
  );
  // Those that were priced, and the one that never was; the failing one is distinguished.
  assert.equal(freshnessOf(tasks, KINDS, 91_500).overdue, 10);
});

test('without a partition there is nothing to report', () => {
  const { instruments, priced, ageMaxMs, overdue } = freshnessOf([], KINDS, 5);
  assert.deepEqual([instruments, priced, ageMaxMs, overdue], [0, 0, null, 0]);
});

test('a kind that gets no answers is overdue, however fresh the others are', () => {
  const tasks = [{ core: core(BOTH_KINDS), lag: 0, unreadable: 0 }];
  const [overview, daily] = freshnessOf(tasks, BOTH_KINDS, 35_000).kinds;
  const counted = [overview?.kind, overview?.priced, overview?.overdue, overview?.failing];
  assert.deepEqual(counted, ['overview', 9, 0, { 'status 404': 1 }]);
  assert.deepEqual([daily?.kind, daily?.priced, daily?.overdue, daily?.failing], ['daily', 0, 11, {}]);
});

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
  const tasks = [{ core, lag: 0, unreadable: 0 }] as unknown as ReturnType<Given[0]>;
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
  const tasks = [{ core, lag: 0, unreadable: 0 }] as unknown as ReturnType<Given[0]>;
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
