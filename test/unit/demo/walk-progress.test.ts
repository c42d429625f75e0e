import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWalkProgress } from '../../../src/demo/walk-progress.ts';
import type { PageCommitted } from '../../../src/observability/connector-events.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

function page(number: number, records: number): PageCommitted {
  return { page: number, records, deadLetters: 1, jsonBytes: 2 ** 20, fetchMs: 0, commitMs: 0 } as PageCommitted;
}

test('the line counts the pages of one walk: a walk that begins again is not added to the one before', () => {
  const shown: string[] = [];
  const progress = createWalkProgress({ show: (text) => shown.push(text), end() {} }, skippingClock());
  for (const [number, records] of [
    [1, 1_000],
    [2, 1_000],
    [1, 7],
  ] as const)
    progress.pageCommitted(page(number, records));
  assert.match(shown[1] ?? '', /^2 pages · 2,000 records · 2 dead letters/);
  assert.match(shown[2] ?? '', /^1 page · 7 records · 1 dead letter · .* 1\.0 MiB of JSON/);
});
