import type { CommittedRecord } from '../../src/kafka/record.ts';
import { createRecordReader } from '../../src/records/avro/record-reader.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import { readWireValue } from '../../src/records/avro/wire-format.ts';

const schema = readSchemaText('Instrument');

/** What our own reader finds in records of instruments, in the form of `readPrices`. */
export function ownPrices(records: readonly CommittedRecord[]): ReadonlyMap<string, string | null> {
  return new Map(
    records.map(({ key, value }) => {
      if (value === null) return [String(key), null];
      const { schemaId } = readWireValue(value);
      const { issuePrice } = createRecordReader({ schemas: new Map([[schemaId, schema]]) }).read(value);
      return [String(key), typeof issuePrice === 'string' ? issuePrice : null];
    }),
  );
}
