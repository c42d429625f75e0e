import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ratios } from '../../bench/compare.ts';

test('each figure that both runs have is shown with its ratio, by its place', () => {
  const before = { node: 'v24.1.0', walk: [{ timesParse: 4, floors: { fetch: 0.02 }, gone: 5 }], prices: [], zero: 0 };
  const now = {
    node: 'v24.2.0',
    walk: [{ timesParse: 3, floors: { fetch: 0.03 }, fresh: 5 }, { timesParse: 9 }],
    zero: 7,
  };
  assert.deepEqual(ratios(now, before), [
    { figure: 'walk.0.timesParse', before: 4, now: 3, ratio: 0.75 },
    { figure: 'walk.0.floors.fetch', before: 0.02, now: 0.03, ratio: 1.5 },
  ]);
});
