import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPriceDigest } from '../../../../src/records/decoding/priced.ts';
import { answersOf, bulkBody, pricedItem, schemaIdOf } from '../../../support/decoding/bulk-answers.ts';
import { skippingClock } from '../../../support/runner/manual-clock.ts';

const WINDOWS = '"prices":[{"date":"2026-01-02","close":12.5},{"date":"2026-01-03","close":1e-20}]';

test('the digest of a written price is that of the answer that it came from, whenever that was', async () => {
  const body = bulkBody([pricedItem('A', WINDOWS, 'ProductDailyPriceResponse')]);
  const digestOf = createPriceDigest('daily', schemaIdOf('daily'));
  for (const nowMs of [1, 1_800_000_000_000, 8_640_000_000_000_000]) {
    const clock = { ...skippingClock(), wallMs: () => nowMs };
    const [answer] = (await answersOf(body, ['A'], { kind: 'daily', clock })).answers;
    assert.ok(answer?.kind === 'prices');
    assert.equal(answer.records.length, 2);
    for (const { value, digest } of answer.records) assert.equal(digestOf(value), digest);
  }
});

test('a price of another version of the schema is taken for another content', () => {
  assert.equal(createPriceDigest('daily', 5)(Buffer.from([0, 0, 0, 0, 6, 1, 2, 3])), null);
});

test('what is no price is that, whatever its bytes are', () => {
  const digestOf = createPriceDigest('daily', 5);
  const header = [0, 0, 0, 0, 5];
  for (const bytes of [[], [0x7b, 0x7d], [...header, 255, 255, 255, 255, 255, 255], [...header, 0, 9, 9, 9, 9, 9]]) {
    assert.throws(() => digestOf(Buffer.from(bytes)), { code: 'RECORD_UNREADABLE' }, String(bytes));
  }
});
