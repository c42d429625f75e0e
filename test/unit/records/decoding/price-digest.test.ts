import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPriceDigest } from '../../../../src/records/decoding/priced.ts';
import { parseJson } from '../../../../src/records/json/json-value.ts';
import { createPriceDecoders } from '../../../oracle/plain-price-decoder.ts';

const json = () => parseJson(sent);
const of = { instrumentId: '7', isin: 'CH0000000001' };
const sent =
  '{"$type":"ProductDailyPriceResponse","prices":[{"date":"2026-01-02","close":12.5},{"date":"2026-01-03","close":1e-20}]}';

test('the digest of a written price is that of the answer that it came from, whenever that was', () => {
  const decoders = createPriceDecoders({
    asked: { kind: 'daily', fields: 'Close' },
    schemaId: 5,
    onMismatch: 'deadLetter',
    assumedZone: null,
  });
  const digestOf = createPriceDigest('daily', 5);
  for (const [requestedAtMs, receivedAtMs] of [
    [0, 1],
    [1_800_000_000_000, 1_800_000_000_001],
    [8_640_000_000_000_000, 8_640_000_000_000_000],
  ] as const) {
    const decoded = decoders.at(requestedAtMs, receivedAtMs).decode(json(), of);
    assert.ok(decoded.kind === 'prices');
    assert.deepEqual(
      decoded.records.map(({ value }) => digestOf(value)),
      decoded.records.map(({ digest }) => digest),
    );
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
