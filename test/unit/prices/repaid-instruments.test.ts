import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QuestionOutcome } from '../../../src/prices/bulk-prices.ts';
import type { Batch } from '../../../src/prices/core/batch.ts';
import type { CoreTransaction } from '../../../src/prices/core/core-messages.ts';
import { PartitionCore } from '../../../src/prices/core/partition-core.ts';
import { createFreshnessView } from '../../../src/prices/freshness.ts';
import { priceRecords } from '../../../src/prices/price-records.ts';
import { answerAll, coreSettings, PRICED, problem, proceed } from '../../support/priced-core.ts';
import { drivePartitions } from './driven-partitions.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TODAY = 20_000;
const EPOCH_MS = TODAY * DAY_MS + 3 * 3_600_000;
const KINDS = [
  { kind: 'overview', refreshIntervalMs: MINUTE_MS },
  { kind: 'daily', refreshIntervalMs: 60 * MINUTE_MS },
] as const;

type Start = ConstructorParameters<typeof PartitionCore>[1]['instruments'];

function coreOf(instruments: Start, epochMs = () => EPOCH_MS): PartitionCore {
  const settings = coreSettings({ kinds: KINDS, maxItems: () => 100, maxBackoffMs: 60 * MINUTE_MS, wallMs: epochMs });
  return new PartitionCore(settings, { offset: 0n, instruments }, 0);
}

const repaidOn = (repaymentDay: number | null) => ({ currency: 'CHF', priceType: 'percentage', repaymentDay });
const [noPrice, broken] = [problem(404), problem(500)];

/** Lets time pass and counts the requests by instrument and kind. */
function run(
  core: PartitionCore,
  untilMs: number,
  outcomeOf: (id: string) => QuestionOutcome,
  fromMs = 0,
  onBatch: (batch: Batch, nowMs: number) => void = () => {},
  onCommit: (transaction: CoreTransaction) => void = () => {},
) {
  const asked = new Map<string, number>();
  for (let nowMs = fromMs; nowMs < untilMs; ) {
    const ask = (batch: Batch) => {
      onBatch(batch, nowMs);
      for (const { id } of batch.questions)
        asked.set(`${batch.kind} ${id}`, (asked.get(`${batch.kind} ${id}`) ?? 0) + 1);
      answerAll(core, batch, outcomeOf);
    };
    nowMs += Math.max(1_000, Math.min(proceed(core, nowMs, ask, onCommit), untilMs));
  }
  return (kind: string, id: string) => asked.get(`${kind} ${id}`) ?? 0;
}

const freshnessOf = (core: PartitionCore, nowMs: number) =>
  createFreshnessView(() => [{ core, lag: 0, unreadable: 0 }], KINDS, { monotonicMs: () => nowMs }).newest();

test('what was repaid long ago is asked for once a day, with or without a price, all others once per interval', () => {
  const core = coreOf([
    ['1', 'isin-1', repaidOn(TODAY - 8)],
    ['2', 'isin-2', repaidOn(TODAY - 300)],
    ['3', 'isin-3', repaidOn(TODAY - 5)],
    ['4', 'isin-4', repaidOn(TODAY + 100)],
    ['5', 'isin-5'],
  ]);
  const asked = run(core, DAY_MS, (id) => (id === '1' ? noPrice : PRICED));
  for (const kind of ['overview', 'daily']) {
    assert.equal(asked(kind, '1'), 1, `${kind}: repaid, without a price`);
    assert.equal(asked(kind, '2'), 1, `${kind}: repaid, with a price`);
  }
  for (const id of ['3', '4', '5']) {
    assert.ok(Math.abs(asked('overview', id) - 1_440) <= 2, `${id} was asked for ${asked('overview', id)} times`);
    assert.ok(Math.abs(asked('daily', id) - 24) <= 1, `${id}: daily ${asked('daily', id)} times`);
  }
});

test('a product whose repayment comes while it is asked for has no price as a repaid one', () => {
  const core = coreOf([['1', 'isin-1']]);
  const transactions: CoreTransaction[] = [];
  const commit = (transaction: CoreTransaction) => transactions.push(transaction);
  const asked: Batch[] = [];
  for (let nowMs = 0; asked.length === 0; nowMs += 1_000) proceed(core, nowMs, (batch) => asked.push(batch), commit);
  core.read(0n, '1', { kind: 'live', isin: 'isin-1', terms: repaidOn(TODAY) }, 2 * MINUTE_MS);
  for (const batch of asked) answerAll(core, batch, () => noPrice);
  proceed(core, 2 * MINUTE_MS, () => {}, commit);
  const results = transactions.flatMap(({ parts }) => parts.flatMap((part) => part.results));
  assert.ok(results.length > 0);
  for (const result of results) assert.ok(result.kind === 'failure' && result.isRepaid, result.kind);
});

test('what was repaid long ago is asked for in full batches that are spread over the day', () => {
  const core = coreOf(Array.from({ length: 450 }, (_, at) => [String(at), `isin-${at}`, repaidOn(TODAY - 30)]));
  const askedAtMs: number[] = [];
  const asked = run(
    core,
    DAY_MS,
    () => PRICED,
    0,
    ({ kind }, nowMs) => void (kind === 'overview' && askedAtMs.push(nowMs)),
  );
  for (let id = 0; id < 450; id++) assert.equal(asked('overview', String(id)), 1, `${id} is asked for once`);
  const gapsMs = askedAtMs.slice(1).map((ms, at) => ms - (askedAtMs[at] ?? 0));
  assert.equal(askedAtMs.length, 5, 'of at most 100 each');
  assert.ok(Math.min(...gapsMs) >= DAY_MS / 5 - MINUTE_MS, `batches come after ${gapsMs} ms`);
});

test('what was repaid long ago makes no other price late, at any time of the day', async (t) => {
  const midnightMs = TODAY * DAY_MS;
  const driven = drivePartitions({
    instruments: 300,
    repaid: 3_000,
    partitions: 1,
    maxItems: 10,
    takesMs: () => 1_000,
    epochMs: midnightMs - 2 * MINUTE_MS,
  });
  t.after(() => driven.stop());
  for (let step = 0; step < 12; step++) {
    await driven.clock.advance(MINUTE_MS / 3);
    const late = driven.overdue('overview').filter((id) => !id.startsWith('repaid-'));
    assert.equal(late.length, 0, `${late.length} are late, ${step * 20} s after the start`);
  }
});

test('an instrument becomes repaid while it is followed, and is asked for often again when its repayment moves', () => {
  // The eighth day after its repayment begins 21 hours from now.
  const core = coreOf([['1', 'isin-1', repaidOn(TODAY - 6)]]);
  const first = run(core, DAY_MS, () => PRICED);
  assert.ok(first('overview', '1') > 1_200 && first('overview', '1') < 1_300, String(first('overview', '1')));
  const second = run(core, 3 * DAY_MS, () => PRICED, DAY_MS);
  assert.ok(second('overview', '1') <= 2);
  core.read(0n, '1', { kind: 'live', isin: 'isin-1', terms: repaidOn(TODAY + 50) }, 3 * DAY_MS);
  const third = run(core, 3 * DAY_MS + 3_600_000, () => PRICED, 3 * DAY_MS);
  assert.ok(third('overview', '1') >= 59, String(third('overview', '1')));
  assert.ok(third('daily', '1') >= 1);
});

test('a clock that was wrong at the start and is corrected leaves no live instrument among the repaid', () => {
  let aheadMs = 8 * DAY_MS;
  const repaidDays: Record<string, number> = { '1': TODAY + 1, '2': TODAY - 1, '3': TODAY - 300 };
  const instruments = Object.entries(repaidDays).map(([id, day]) => [id, `isin-${id}`, repaidOn(day)] as const);
  const core = coreOf(instruments, () => EPOCH_MS + aheadMs);
  const before = run(core, 10 * MINUTE_MS, () => PRICED);
  assert.ok(before('overview', '1') <= 1 && freshnessOf(core, 10 * MINUTE_MS).repaid === 3, 'by that clock they are');
  aheadMs = 0;
  const after = run(core, 3 * 60 * MINUTE_MS, () => PRICED, 10 * MINUTE_MS);
  for (const id of ['1', '2']) {
    assert.ok(after('overview', id) >= 165, `${id} was asked for ${after('overview', id)} times in 170 minutes`);
    assert.ok(after('daily', id) >= 1, `${id}: daily ${after('daily', id)} times`);
  }
  assert.ok(after('overview', '3') <= 1, 'it is long past by the right clock too');
  const { repaid, priced: live, overdue } = freshnessOf(core, 3 * 60 * MINUTE_MS);
  assert.deepEqual([repaid, live, overdue], [1, 2, 0]);
});

test('a clock that is set back in small steps is followed, too', () => {
  let aheadMs = 0;
  // By the clock of the start it is long past since midnight, by the right one only in three hours.
  const core = coreOf([['1', 'isin-1', repaidOn(TODAY - 7)]], () => EPOCH_MS + aheadMs);
  assert.ok(run(core, 10 * MINUTE_MS, () => PRICED)('overview', '1') <= 1);
  for (let step = 0; step < 12; step++) {
    aheadMs -= 30 * MINUTE_MS;
    run(core, (12 + 2 * step) * MINUTE_MS, () => PRICED, (10 + 2 * step) * MINUTE_MS);
  }
  const asked = run(core, 94 * MINUTE_MS, () => PRICED, 34 * MINUTE_MS)('overview', '1');
  assert.ok(asked >= 55, `it was asked for ${asked} times in an hour`);
});

test('a clock that was behind at the start lets what is repaid be asked for often until it is corrected, and no longer', () => {
  let aheadMs = -30 * DAY_MS;
  const core = coreOf([['1', 'isin-1', repaidOn(TODAY - 20)]], () => EPOCH_MS + aheadMs);
  assert.ok(run(core, 10 * MINUTE_MS, () => PRICED)('overview', '1') >= 9);
  aheadMs = 0;
  assert.ok(run(core, 3 * 60 * MINUTE_MS, () => PRICED, 10 * MINUTE_MS)('overview', '1') <= 3);
});

test('each instrument counts once: priced, waiting, failing or repaid', () => {
  const core = coreOf([
    ['1', 'isin-1', repaidOn(TODAY - 8)],
    ['2', 'isin-2', repaidOn(TODAY)],
    ['3', 'isin-3', repaidOn(TODAY)],
    ['4', 'isin-4', repaidOn(TODAY)],
    ['5', 'isin-5', repaidOn(TODAY + 1)],
    ['6', 'isin-6', repaidOn(TODAY + 1)],
    ['7', 'isin-7'],
  ]);
  const outcomes: Record<string, QuestionOutcome> = { '2': noPrice, '3': broken, '5': noPrice };
  const before = freshnessOf(core, 0);
  assert.deepEqual([before.priced, before.waiting, before.repaid, before.failing], [0, 6, 1, {}]);
  run(core, 5 * MINUTE_MS, (id) => outcomes[id] ?? PRICED);
  const after = freshnessOf(core, 5 * MINUTE_MS);
  // 1 long ago; 2 today and without a price. 3 fails for another reason, 5 before its repayment. 4, 6 and 7 have prices.
  const counted = [after.priced, after.waiting, after.repaid, after.failing];
  assert.deepEqual(counted, [3, 0, 2, { 'status 500': 1, 'status 404': 1 }]);
  assert.equal(after.ages.at(-1)?.instruments, after.priced, 'only priced ones have an age');
  assert.equal(after.overdue, 0);
  for (const kind of after.kinds) {
    const failing = Object.values(kind.failing).reduce((sum, count) => sum + count, 0);
    assert.equal(kind.priced + kind.waiting + kind.repaid + failing, after.instruments);
  }
});

test('one that had a price and fails now is failing, and no longer priced', () => {
  const core = coreOf([['1', 'isin-1']]);
  run(core, 3 * MINUTE_MS, () => PRICED);
  assert.equal(freshnessOf(core, 3 * MINUTE_MS).priced, 1);
  run(core, 6 * MINUTE_MS, () => broken, 3 * MINUTE_MS);
  const { priced: stillPriced, failing } = freshnessOf(core, 6 * MINUTE_MS);
  assert.deepEqual([stillPriced, failing], [0, { 'status 500': 1 }]);
});

test('that a repaid product has no price is a dead letter with that reason, and none that is counted', () => {
  const core = coreOf([['1', 'isin-1', repaidOn(TODAY)]]);
  for (const [offset, terms] of [repaidOn(TODAY), repaidOn(TODAY + 1), repaidOn(null)].entries())
    core.read(BigInt(offset), `new-${offset}`, { kind: 'live', isin: `new-${offset}`, terms }, 0);
  const topic = (name: string) => ({ name, partitions: 1 });
  const prices = new Map(KINDS.map(({ kind }) => [kind, topic(kind)] as const));
  const targets = { prices, deadLetters: topic('dead-letters'), endpoint: '/bulk' };
  const context = { input: { topic: 'instruments', partition: 0 }, targets, windows: new Map(), wallMs: EPOCH_MS };
  const reasons: string[] = [];
  let counted = 0;
  const onCommit = ({ parts }: CoreTransaction) => {
    for (const { records, report } of parts.map((part) => priceRecords(part, context))) {
      counted += report.deadLetters;
      const letters = records.filter((record) => record.topic === 'dead-letters');
      reasons.push(...letters.map(({ headers }) => String(headers['__connect.errors.exception.message'])));
    }
  };
  run(core, 2 * MINUTE_MS, () => noPrice, 0, undefined, onCommit);
  const ofRepaid = reasons.filter((reason) => reason.includes('whose repaymentDate has come'));
  // Of the new ones by kind, and the one of the table.
  assert.deepEqual([ofRepaid.length, reasons.length, counted], [3, 7, 4], reasons.join('\n'));
});
