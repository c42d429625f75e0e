import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oddBulkBodies, usualBulkBody } from '../support/decoding/bulk-variants.ts';
import { bulkDecoding, type DecodingCost, decodingCost, pageDecoding } from '../support/decoding/decoding-cost.ts';
import { oddPages, usualPage } from '../support/decoding/page-variants.ts';

// `node test/bench/decoding.ts` shows the figures: 1.1 to 1.5 for usual bodies, 2.4 for an odd one. These bounds leave
// room for a busy machine; the way through objects takes five to six times JSON.parse.
const MOST = { usual: 1.9, usualBulk: 1.9, odd: 3.5 };
const INSTRUMENTS = 300;
const ROUNDS = 5;
const ATTEMPTS = 4;

test('decoding costs little more than JSON.parse of the same page, and an odd page not much more', async () => {
  const page = await usualPage(INSTRUMENTS);
  await costsAtMost(page, pageDecoding(), MOST.usual);
  const odd = oddPages(page).get('an unknown object in each object') ?? assert.fail();
  await costsAtMost(odd, pageDecoding(), MOST.odd);
});

test('so does a bulk response', async () => {
  const usual = await usualBulkBody(INSTRUMENTS);
  await costsAtMost(usual.body, bulkDecoding(usual.isins), MOST.usualBulk);
  const { isins, body } = oddBulkBodies(usual).get('flat: no object within a response') ?? assert.fail();
  await costsAtMost(body, bulkDecoding(isins), MOST.odd);
});

/** What else the machine does, and when code is compiled, falls on one of both; so an attempt that misses is repeated. */
async function costsAtMost(body: Buffer, decode: ReturnType<typeof pageDecoding>, ratio: number): Promise<void> {
  const costs: DecodingCost[] = [];
  while (costs.length < ATTEMPTS && !costs.some((cost) => cost.ratio < ratio)) {
    costs.push(await decodingCost(body, decode, ROUNDS));
  }
  assert.ok(
    costs.some((cost) => cost.ratio < ratio),
    JSON.stringify(costs),
  );
}
