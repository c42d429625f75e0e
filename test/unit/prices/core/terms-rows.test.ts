import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InstrumentKeys } from '../../../../src/prices/core/instrument-keys.ts';
import { type InstrumentTerms, NO_TERMS } from '../../../../src/records/avro/instrument-terms.ts';

const CHF: InstrumentTerms = { currency: 'CHF', priceType: 'percentage', repaymentDay: 20_000 };

test('each row has the terms that were written last, and none before', () => {
  const rows = new InstrumentKeys();
  assert.deepEqual(rows.termsAt(5_000), NO_TERMS);
  const terms = [
    CHF,
    { ...CHF, repaymentDay: null },
    { ...CHF, currency: null },
    NO_TERMS,
    { ...CHF, priceType: '["' },
  ];
  for (let row = 0; row < 5_000; row++) rows.setTerms(row, terms[row % terms.length] ?? NO_TERMS);
  for (let row = 0; row < 5_000; row++) assert.deepEqual(rows.termsAt(row), terms[row % terms.length]);
  rows.setTerms(7, CHF);
  assert.deepEqual(rows.termsAt(7), CHF);
});

test('more different terms than 16 bits can number are kept all the same', () => {
  const rows = new InstrumentKeys();
  const termsOf = (row: number) => ({ ...CHF, repaymentDay: row });
  for (let row = 0; row < 70_000; row++) rows.setTerms(row, termsOf(row));
  for (const row of [0, 1, 65_532, 65_533, 65_534, 65_535, 65_536, 69_999])
    assert.deepEqual(rows.termsAt(row), termsOf(row));
  rows.setTerms(69_999, termsOf(3));
  assert.deepEqual(rows.termsAt(69_999), termsOf(3));
});

test('a row that another instrument gets has the terms of that one', () => {
  const keys = new InstrumentKeys();
  const first = keys.set('1', 'CH0000000001', CHF);
  keys.delete('1');
  const row = keys.set('2', 'CH0000000002');
  assert.equal(row, first);
  assert.deepEqual(keys.termsAt(row), NO_TERMS);
});
