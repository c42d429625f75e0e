// The plain way from JSON to Avro, by objects. At run time `src/records/decoding` does it; this is the oracle of its tests.

import { createRecordEncoder } from '../../src/records/avro/record-encoder.ts';
import { parseSchema } from '../../src/records/avro/schema.ts';
import type { DecodedRow, PageDecoder, PageDecoderOptions } from '../../src/records/decoding/page-decoder.ts';
import type { JsonValue } from '../../src/records/json/json-value.ts';
import { INSTRUMENT_KEY } from '../../src/records/json/row-key.ts';
import { createListReader } from './list-reader.ts';
import { Mapping } from './mapping.ts';

export function createPageDecoder(options: PageDecoderOptions): PageDecoder {
  const { listKey, maxValueBytes = Number.POSITIVE_INFINITY } = options;
  const schema = parseSchema(options.schema);
  const encode = createRecordEncoder(options.schema, options.schemaId);
  const mapping = new Mapping(schema, options.onMismatch);

  function decodeRow(row: JsonValue, raw: Buffer): DecodedRow {
    const failure = (key: string | null, pointer: string, reason: string, tooLarge = false): DecodedRow => {
      return { kind: 'failure', key, pointer, reason, tooLarge, raw: Buffer.from(raw) };
    };
    const mapped = mapping.map(row);
    if (mapped.kind === 'failure') {
      const id = mapping.readMember(row, 'id');
      return failure(typeof id === 'bigint' ? String(id) : null, mapped.pointer, mapped.reason);
    }
    const { record, driftFields, roundedNumbers } = mapped;
    const { id, isin } = record;
    if (typeof id !== 'bigint') throw new Error(`The schema ${schema.fullName} has no long field id.`);
    const key = String(id);
    const value = encode(record);
    if (value.length > maxValueBytes) {
      return failure(key, '', `a value of ${value.length} bytes; the topic takes at most ${maxValueBytes}`, true);
    }
    return {
      kind: 'record',
      key,
      id,
      isin: typeof isin === 'string' ? isin : null,
      value,
      driftFields,
      roundedNumbers,
    };
  }

  const list = createListReader<DecodedRow>({ listKey, key: INSTRUMENT_KEY, decodeRow });
  return { decode: (body) => list.read(body) };
}
