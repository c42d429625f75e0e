// The plain way from JSON to Avro, by objects. At run time `src/records/decoding` does it; this is the oracle of its tests.

import { createRecordEncoder } from '../../src/records/avro/record-encoder.ts';
import { parseSchema } from '../../src/records/avro/schema.ts';
import type { CheckDecoder, CheckDecoderOptions, DecodedCheck } from '../../src/records/decoding/check-decoder.ts';
import type { DecodedFailure } from '../../src/records/decoding/decoded-list.ts';
import type { JsonValue } from '../../src/records/json/json-value.ts';
import { CHECK_KEY, usableKey } from '../../src/records/json/row-key.ts';
import { createListReader } from './list-reader.ts';
import { Mapping } from './mapping.ts';

const KEY_FIELD = 'preTradeCheckId';

export function createCheckDecoder(options: CheckDecoderOptions): Pick<CheckDecoder, 'decode'> {
  const { maxValueBytes = Number.POSITIVE_INFINITY } = options;
  const encode = createRecordEncoder(options.schema, options.schemaId);
  const mapping = new Mapping(parseSchema(options.schema), options.onMismatch);

  function decodeCheck(check: JsonValue): DecodedCheck {
    const id = mapping.readMember(check, KEY_FIELD);
    const key = typeof id === 'string' ? usableKey(id) : null;
    const mapped = mapping.map(check);
    if (mapped.kind === 'failure') return failure(key, mapped.pointer, mapped.reason);
    if (key === null) return failure(null, `/${KEY_FIELD}`, `an id that is empty or too long to be a key`);
    const { record, driftFields, roundedNumbers } = mapped;
    const value = encode(record);
    if (value.length > maxValueBytes) {
      return failure(key, '', `a value of ${value.length} bytes; the topic takes at most ${maxValueBytes}`, true);
    }
    const isin = typeof record.isin === 'string' ? record.isin : null;
    return { kind: 'record', key, isin, value, driftFields, roundedNumbers };
  }

  const list = createListReader<DecodedCheck>({
    listKey: 'preTradeChecks',
    key: CHECK_KEY,
    decodeRow: decodeCheck,
  });
  return {
    async decode(body) {
      const decoded = await list.read(body);
      // A row that is not read, such as one that is too long, comes from the reader with its bytes.
      const rows = decoded.rows.map((row) =>
        row.kind === 'failure' ? failure(row.key, row.pointer, row.reason, row.tooLarge) : row,
      );
      return { ...decoded, rows };
    },
  };
}

function failure(key: string | null, pointer: string, reason: string, tooLarge = false): DecodedFailure {
  return { kind: 'failure', key, pointer, reason, tooLarge, raw: Buffer.alloc(0) };
}
