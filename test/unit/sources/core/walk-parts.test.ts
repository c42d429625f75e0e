import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import { Census } from '../../../../src/sources/walk/census.ts';
import type { RowFacts, WalkFlaw } from '../../../../src/sources/walk/instruments-messages.ts';
import { firstOffset, NO_COUNTS } from '../../../../src/sources/walk/instruments-offset.ts';
import { sortRows } from '../../../../src/sources/walk/page-rows.ts';
import { planSweep } from '../../../../src/sources/walk/sweep.ts';
import { SETTINGS } from './driven-core.ts';

function censusOf(count: number): Census {
  const census = new Census();
  for (let id = 1; id <= count; id++) census.put(BigInt(id), BigInt(id), true);
  return census;
}

const row = (id: number | null, digest: number | null = id): RowFacts => ({
  id: id === null ? null : BigInt(id),
  digest: digest === null ? null : BigInt(digest),
});

test('each row of a page is one of its outcomes, and only what must be written is', () => {
  const census = censusOf(3);
  census.put(4n, 4n, false);
  const rows = [row(1), row(2, 20), row(4), row(5), row(6), row(7, null), row(null)];
  const sorted = sortRows({ minId: '1', rows }, new Set([6n]), census, null);
  assert.deepEqual(sorted.write, [1, 2, 3, 5, 6]);
  const { counts } = sorted;
  assert.deepEqual(counts, {
    ...NO_COUNTS,
    pages: 1,
    rows: 7,
    unchanged: 1,
    corrected: 1,
    reEncoded: 1,
    added: 1,
    touched: 1,
    deadLetters: 2,
  });
  assert.deepEqual([sorted.flaws, sorted.lastId], [['unreadableId'], 7n]);
});

test('of rows with one id the last one counts, also where ids descend', () => {
  const sorted = sortRows({ minId: null, rows: [row(9), row(8, 1), row(8, 2)] }, new Set(), new Census(), null);
  assert.deepEqual(sorted.write, [0, 2]);
  assert.equal(sorted.counts.repeated, 1);
  assert.equal(sorted.lastId, 9n);
});

test('a row below the cursor is used and noticed; one on it is normal', () => {
  const sorted = sortRows({ minId: '5', rows: [row(4), row(5)] }, new Set(), new Census(), null);
  assert.deepEqual(sorted.write, [0, 1]);
  assert.deepEqual([sorted.flaws, sorted.counts.belowCursor], [['rowBelowCursor'], 1]);
});

test('a dead row that comes again at the border of two pages is one dead letter', () => {
  const rows = [row(5, null), row(6, null)];
  const sorted = sortRows({ minId: '5', rows }, new Set(), new Census(), 5n);
  assert.deepEqual([sorted.write, sorted.counts.repeated, sorted.counts.deadLetters], [[1], 1, 1]);
  const changed = { minId: '5', rows: [row(5, 7)] };
  assert.deepEqual(sortRows(changed, new Set(), censusOf(9), 5n).write, [0]);
  const seen = censusOf(9);
  seen.see(5n);
  const again = sortRows(changed, new Set(), seen, 5n);
  assert.deepEqual([again.write, again.counts.repeated], [[], 1], 'which of two rows of a walk is older nobody knows');
});

/** A walk over a topic of `held` instruments, of which `gone` were not seen. */
function sweep(held: number, gone: number, changes: { flaw?: WalkFlaw; allow?: number; resumed?: boolean } = {}) {
  const census = censusOf(held);
  for (let id = gone + 1; id <= held; id++) census.see(BigInt(id));
  const first = firstOffset('', '1-1', responseTime(0, 0), null);
  const plan = planSweep({
    offset: {
      ...first,
      walkResumed: changes.resumed ?? false,
      walkAllowShrink: changes.allow ?? null,
      counts: { ...NO_COUNTS, rows: held - gone },
    },
    flaws: new Set(changes.flaw ? [changes.flaw] : []),
    touched: new Set(),
    census,
    settings: SETTINGS,
  });
  return { deleted: plan.gone.length, reported: plan.notifications.map(({ kind }) => kind) };
}

test('what no row showed is deleted, up to twenty and up to the share', () => {
  assert.deepEqual(sweep(30, 20), { deleted: 20, reported: [] });
  assert.deepEqual(sweep(1_000, 50), { deleted: 50, reported: [] });
});

test('more than twenty and more than the share is refused, until it is allowed, and only so far', () => {
  assert.deepEqual(sweep(30, 21), { deleted: 0, reported: ['shrinkRefused'] });
  assert.deepEqual(sweep(1_000, 51), { deleted: 0, reported: ['shrinkRefused'] });
  assert.deepEqual(sweep(1_000, 51, { allow: 50 }), { deleted: 0, reported: ['shrinkRefused'] });
  assert.deepEqual(sweep(1_000, 600, { allow: 600 }), { deleted: 600, reported: [] });
});

test('an empty list deletes nothing, not even one instrument, until it is allowed', () => {
  assert.deepEqual(sweep(1, 1), { deleted: 0, reported: ['shrinkRefused'] });
  assert.deepEqual(sweep(1, 1, { allow: 1 }), { deleted: 1, reported: [] });
  assert.deepEqual(sweep(0, 0), { deleted: 0, reported: [] });
});

test('a walk that was resumed or had a flaw deletes nothing, whatever is allowed', () => {
  assert.deepEqual(sweep(30, 1, { resumed: true, allow: 30 }), { deleted: 0, reported: [] });
  assert.deepEqual(sweep(30, 1, { flaw: 'unreadableId', allow: 30 }), { deleted: 0, reported: ['deletionSkipped'] });
});
