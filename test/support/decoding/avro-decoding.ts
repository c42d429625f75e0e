import { createRecordReader, type ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import type { DecodedPage, DecodedRow, PageDecoderOptions } from '../../../src/records/decoding/page-decoder.ts';
import { createPageDecoder } from '../../../src/records/decoding/page-decoder.ts';
import { systemClock } from '../../../src/support/clock.ts';

export const SCHEMA_ID = 7;

const schema = readSchemaText('Instrument');
const reader = createRecordReader({ schemas: new Map([[SCHEMA_ID, schema]]) });

export async function* chunked(body: string | Uint8Array, chunkBytes = 1_000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(body as string);
  for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
}

export function instrumentDecoder(options: Partial<Parameters<typeof createPageDecoder>[0]> = {}) {
  return createPageDecoder({
    schema,
    schemaId: SCHEMA_ID,
    listKey: 'instruments',
    onMismatch: 'deadLetter',
    clock: systemClock,
    ...options,
  });
}

/** The page that these rows, given as JSON texts, make. */
export function decodeRows(rows: readonly string[], options: Partial<PageDecoderOptions> = {}): Promise<DecodedPage> {
  return instrumentDecoder(options).decode(chunked(`{"instruments":[${rows.join(',')}],"links":{"next":null}}`));
}

export async function decodeRow(row: string, options: Partial<PageDecoderOptions> = {}): Promise<DecodedRow> {
  const [decoded] = (await decodeRows([row], options)).rows;
  if (decoded === undefined) throw new Error('The page has no row.');
  return decoded;
}

export function readRow(row: DecodedRow): ReadableRecord {
  if (row.kind === 'failure') throw new Error(`The row failed at ${row.pointer}: ${row.reason}`);
  return reader.read(row.value);
}

/** The record of one row without its nulls. */
export async function recordOf(row: string, options: Partial<PageDecoderOptions> = {}): Promise<object> {
  return withoutNulls(readRow(await decodeRow(row, options))) as object;
}

export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(present.map(([name, field]) => [name, withoutNulls(field)]));
}
