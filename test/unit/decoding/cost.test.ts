import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodingCost } from '../../support/decoding/decoding-cost.ts';
import { oddPages, usualPage } from '../../support/decoding/page-variants.ts';

// `node test/bench/decoding.ts` shows the figures. These bounds leave room for a busy machine; the way through objects
// takes five to six times JSON.parse.
const MOST = { usual: 2.5, odd: 5 };
const INSTRUMENTS = 300;
const ROUNDS = 15;

test('decoding costs little more than JSON.parse of the same page, and an odd page not much more', {
  timeout: 1_200_000,
}, async () => {
  const page = await usualPage(INSTRUMENTS);
  const usual = await decodingCost(page, ROUNDS);
  assert.ok(usual.ratio < MOST.usual, JSON.stringify(usual));
  const odd = await decodingCost(oddPages(page).get('an unknown object in each object') ?? assert.fail(), ROUNDS);
  assert.ok(odd.ratio < MOST.odd, JSON.stringify(odd));
});
