import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
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
