import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DecodingCost, decodingCost } from '../../support/decoding/decoding-cost.ts';
import { oddPages, usualPage } from '../../support/decoding/page-variants.ts';

// `node test/bench/decoding.ts` shows the figures. These bounds leave room for a busy machine; the way through objects
// takes five to six times JSON.parse.
const MOST = { usual: 2.5, odd: 5 };
const INSTRUMENTS = 300;
const ROUNDS = 15;
const ATTEMPTS = 4;

test('decoding costs little more than JSON.parse of the same page, and an odd page not much more', {
  timeout: 1_200_000,
}, async () => {
  const page = await usualPage(INSTRUMENTS);
  await costsAtMost(page, MOST.usual);
  await costsAtMost(oddPages(page).get('an unknown object in each object') ?? assert.fail(), MOST.odd);
});

/** What else the machine does, and when code is compiled, falls on one of both; so an attempt that misses is repeated. */
async function costsAtMost(page: Buffer, ratio: number): Promise<void> {
  const costs: DecodingCost[] = [];
  while (costs.length < ATTEMPTS && !costs.some((cost) => cost.ratio < ratio)) {
    costs.push(await decodingCost(page, ROUNDS));
  }
  assert.ok(
    costs.some((cost) => cost.ratio < ratio),
    JSON.stringify(costs),
  );
}
