import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReportedFailures } from '../../../src/prices/core/core-messages.ts';
import { PartitionCore } from '../../../src/prices/core/partition-core.ts';
import { Repayment } from '../../../src/prices/core/price-state.ts';
import { createFreshnessView } from '../../../src/prices/freshness.ts';
import { NO_TERMS } from '../../../src/records/avro/instrument-terms.ts';

const KINDS = [{ kind: 'overview', refreshIntervalMs: 60_000 }] as const;
const BOTH_KINDS = [...KINDS, { kind: 'daily', refreshIntervalMs: 20_000 }] as const;
const NO_COUNTS = { calls: 1, askMs: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 };

type Given = Parameters<typeof createFreshnessView>;

const freshnessOf = (tasks: ReturnType<Given[0]>, kinds: Given[1], nowMs: number) =>
  createFreshnessView(() => tasks, kinds, { monotonicMs: () => nowMs }).newest();

/** A core that has priced instruments 0 to 9 at 1,000 ms; 3 fails, 4 is pulled, 10 has no isin, 11 is not asked for yet. */
function core(kinds: typeof KINDS | typeof BOTH_KINDS = KINDS): PartitionCore {
  const settings = {
    kinds,
    lingerMs: 0,
    answerWithinMs: 30_000,
    maxItems: () => 100,
    maxBackoffMs: 3_600_000,
    repayment: new Repayment({ repaidAfterMs: 7 * 86_400_000, epochMs: () => 0 }),
    epochMs: 0,
    random: () => 0.5,
    reported: new ReportedFailures(),
  };
  const made = new PartitionCore(settings, { offset: 0n, instruments: [] }, 0);
  for (let id = 0; id < 10; id++)
    made.read(BigInt(id), String(id), { kind: 'live', isin: `isin-${id}`, terms: NO_TERMS }, 0);
  made.read(10n, '10', { kind: 'live', isin: null, terms: NO_TERMS }, 0);
  const ask = made.next(0);
  assert.ok(ask.kind === 'ask');
  const outcomes = ask.batch.questions.map(({ id }) =>
    id === '3'
      ? { kind: 'problem' as const, status: 404, title: null, item: Buffer.alloc(0) }
      : { kind: 'prices' as const, records: [], isQuotingPulled: id === '4' },
  );
  made.answered(ask.batch, [...outcomes.keys()], { outcomes, ...NO_COUNTS });
  let commit = made.next(0);
  // Another kind is asked for meanwhile, and gets no answer.
  while (commit.kind === 'ask') commit = made.next(0);
  assert.ok(commit.kind === 'commit');
  const failing = made.committed(commit.transaction, 1_000);
  assert.deepEqual(
    failing.map(({ instrumentId, problem, failures }) => [instrumentId, problem, failures]),
    [['3', 'status 404', 1]],
  );
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
  assert.deepEqual(
    [overview?.kind, overview?.priced, overview?.overdue, overview?.failing],
    ['overview', 9, 0, { 'status 404': 1 }],
  );
  assert.deepEqual([daily?.kind, daily?.priced, daily?.overdue, daily?.failing], ['daily', 0, 11, {}]);
});
