import type { CommittedRecord } from '../../../src/kafka/record.ts';
import { createRecordReader, type ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import { readSchemaText, type SchemaName } from '../../../src/records/avro/schema-files.ts';
import { readWireValue } from '../../../src/records/avro/wire-format.ts';

/** The values of these records but tombstones, in order, read by our newest schema of that name. */
export function readable(records: readonly Pick<CommittedRecord, 'value'>[], name: SchemaName): ReadableRecord[] {
  const values = records.flatMap(({ value }) => value ?? []);
  const schema = readSchemaText(name);
  const reader = createRecordReader({
    schemas: new Map(values.map((value) => [readWireValue(value).schemaId, schema])),
  });
  return values.map((value) => reader.read(value));
}
