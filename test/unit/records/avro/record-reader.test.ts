import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecordReader } from '../../../../src/records/avro/record-reader.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { decodeRow, SCHEMA_ID } from '../../../support/decoding/avro-decoding.ts';

const reader = createRecordReader({ schemas: new Map([[SCHEMA_ID, readSchemaText('Instrument')]]) });

async function instrumentValue(): Promise<Buffer> {
  const row = await decodeRow('{"id":9007199254740993,"issuePrice":-0.10,"repaymentDate":"2030-02-01","new":1}');
  assert.ok(row.kind === 'record');
  return row.value;
}

function unreadable(value: Buffer, message: RegExp): void {
  assert.throws(() => reader.read(value), { name: 'ConnectorError', code: 'RECORD_UNREADABLE', message });
}

test('a value is read to exact text that JSON can show', async () => {
  const record = reader.read(await instrumentValue());
  const { id, issuePrice, repaymentDate, name, extras } = JSON.parse(JSON.stringify(record));
  assert.deepEqual(
    { id, issuePrice, repaymentDate, name, extras },
    { id: '9007199254740993', issuePrice: '-0.1', repaymentDate: '2030-02-01', name: null, extras: { '/new': '1' } },
  );
});

test('a value that is no record of a known schema is refused', async () => {
  const value = await instrumentValue();
  unreadable(Buffer.alloc(0), /0 bytes does not begin with the header/);
  unreadable(Buffer.from('{"id":1}'), /8 bytes does not begin with the header/);
  unreadable(value.subarray(0, 4), /does not begin with the header/);
  unreadable(Buffer.concat([Buffer.from([0, 0, 0, 0, 8]), value.subarray(5)]), /schema id 8, which is unknown here/);
  unreadable(Buffer.concat([value, Buffer.from([0])]), /not a record of schema id 7/);
  for (let length = 5; length < value.length; length++)
    unreadable(value.subarray(0, length), /not a record of schema id 7/);
});
