import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConnectorError } from '../../../../src/errors.ts';
import type { ReadableRecord, ReadableValue } from '../../../../src/records/avro/record-reader.ts';
import { parseSchema } from '../../../../src/records/avro/schema.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { recordSamples } from '../../../support/decoding/avro-arbitraries.ts';
import { chunked, instrumentDecoder, readRow } from '../../../support/decoding/avro-decoding.ts';

const instruments = recordSamples(parseSchema(readSchemaText('Instrument')));

/** What our own two fields must hold, found in the simplest way. */
function withOwnFields(expected: ReadableRecord): ReadableRecord {
  const identifiers = (expected.identifiers ?? []) as readonly { type: ReadableValue; value: ReadableValue }[];
  const found = identifiers.find(({ type, value }) => String(type).toLowerCase() === 'isin' && value);
  return { ...expected, isin: found?.value ?? null };
}

test('what avsc reads back is exactly what was sent, for instruments of every shape and spelling', async () => {
  const decoder = instrumentDecoder();
  await fc.assert(
    fc.asyncProperty(
      fc.array(instruments, { maxLength: 4 }),
      fc.integer({ min: 1, max: 5_000 }),
      async (rows, size) => {
        const body = `{"instruments":[${rows.map(({ json }) => json).join(',')}]}`;
        const page = await decoder.decode(chunked(body, size));
        assert.deepEqual(
          page.rows.map(readRow),
          rows.map(({ expected }) => withOwnFields(expected)),
        );
        assert.equal(page.duplicateKeys, 0);
      },
    ),
    { numRuns: 150 },
  );
});

const DAMAGE = fc.record({
  at: fc.nat(),
  cut: fc.nat(12),
  paste: fc.oneof(
    fc.constantFrom(
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '\\',
      'null',
      'true',
      '7',
      '"id":null,',
      '1e999999',
      '-',
      '\\ud800',
      '"__proto__":',
      '\u0000',
    ),
    fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  ),
});

test('a damaged page is refused, or its rows are those that JSON.parse sees in it', async () => {
  const decoder = instrumentDecoder();
  const seen = { refused: 0, decoded: 0, failures: 0, damagedTexts: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(instruments, { minLength: 1, maxLength: 2 }),
      fc.array(DAMAGE, { minLength: 1, maxLength: 3 }),
      async (rows, damages) => {
        const body = `{"instruments":[${rows.map(({ json }) => json).join(',')}],"links":{"next":null}}`;
        let bytes = Buffer.from(body);
        for (const { at, cut, paste } of damages) {
          const start = at % bytes.length;
          bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(paste, 'latin1'), bytes.subarray(start + cut)]);
        }
        const native = parseBytes(bytes);
        try {
          const page = await decoder.decode(chunked(bytes, 997));
          assert.ok(Array.isArray(native?.instruments), 'JSON.parse refuses what was accepted');
          assert.equal(page.rows.length, native.instruments.length);
          for (const [index, row] of page.rows.entries()) {
            if (row.kind === 'failure') {
              seen.failures += 1;
              if (/not UTF-8/.test(row.reason)) seen.damagedTexts += 1;
              assert.deepEqual(JSON.parse(row.raw.toString()), native.instruments[index]);
            } else assertSameStrings(readRow(row), native.instruments[index]);
          }
          seen.decoded += 1;
        } catch (error) {
          if (!(error instanceof ConnectorError)) throw error;
          assert.equal(error.code, 'BODY_MALFORMED');
          // A byte that is not UTF-8 costs its row alone, but beside the rows it costs the page.
          const isText = !/not UTF-8/.test(error.message);
          assert.equal(isText && Array.isArray(native?.instruments), false, `JSON.parse accepts it: ${error.message}`);
          seen.refused += 1;
        }
      },
    ),
    { numRuns: 1_500 },
  );
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 0, `${what}: ${count}`);
});

function parseBytes(bytes: Buffer): ({ readonly instruments?: unknown } & Record<string, unknown>) | null {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

// Strings are enough to see that no field got what was sent for another one.
function assertSameStrings(record: ReadableRecord, sent: unknown): void {
  const members = sent as Record<string, unknown>;
  for (const name of ['name', 'legalCountry', 'currency', 'priceType', 'settlementType', 'exerciseType', 'direction']) {
    const value = members[name] ?? members[name.charAt(0).toUpperCase() + name.slice(1)] ?? null;
    assert.equal(record[name], typeof value === 'string' ? value.toWellFormed() : value, name);
  }
}
