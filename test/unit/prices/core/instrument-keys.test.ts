import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { InstrumentKeys } from '../../../../src/prices/core/instrument-keys.ts';
import type { InstrumentTerms } from '../../../../src/records/avro/instrument-terms.ts';

/** Ids that meet in slots, the ends of int64, and what is no int64 as it is written. */
const ids = fc.oneof(
  fc.integer({ min: -20, max: 20 }).map(String),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.constantFrom('9223372036854775807', '-9223372036854775808', '9007199254740993', '4294967296', '-4294967297'),
  fc.constantFrom('9223372036854775808', '-9223372036854775809', '9999999999999999999', '007', '-0', '-07', '', '1e3'),
);
const isins = fc.oneof(
  fc.stringMatching(/^[0-9A-Z]{12}$/),
  fc.constantFrom(
    '000000000000',
    'ZZZZZZZZZZZZ',
    'CH0000000001',
    'ch0000000001',
    'CH1',
    'ÄÖ0000000000',
    '0000000000001',
  ),
);

const terms = fc.record(
  {
    currency: fc.constantFrom('CHF', 'EUR', null),
    priceType: fc.constantFrom('percentage', '["', null),
    repaymentDay: fc.constantFrom(20_000, 20_001, null),
  },
  { noNullPrototype: true },
);

test('whatever is put in and taken out, it holds what a Map would', () => {
  const command = fc.record({ isRemoved: fc.nat(3).map((n) => n === 0), id: ids, isin: isins, terms });
  const commands = fc.array(command, { maxLength: 400 });
  fc.assert(
    fc.property(commands, (given) => {
      const keys = new InstrumentKeys();
      const model = new Map<string, readonly [string, InstrumentTerms]>();
      const rows = new Map<string, number>();
      for (const { isRemoved, id, isin, terms } of given) {
        if (isRemoved) {
          keys.delete(id);
          model.delete(id);
          rows.delete(id);
          continue;
        }
        const row = keys.set(id, isin, terms);
        assert.equal(row, rows.get(id) ?? row, 'an id keeps its row');
        model.set(id, [isin, terms]);
        rows.set(id, row);
      }
      assert.equal(keys.size, model.size);
      assert.deepEqual(new Map([...keys].map(([id, isin, terms]) => [id, [isin, terms]])), model);
      assert.equal([...keys].length, model.size);
      assert.equal(new Set(keys.rows()).size, model.size);
      for (const { id } of given) {
        const row = keys.find(id);
        assert.equal(row, rows.get(id) ?? -1);
        if (row >= 0) assert.deepEqual([keys.idAt(row), keys.isinAt(row)], [id, model.get(id)?.[0]]);
      }
    }),
  );
});
