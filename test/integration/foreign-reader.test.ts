import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseSchema } from '../../src/avro/schema.ts';
import { readSchemaText } from '../../src/avro/schema-files.ts';
import { recordSamples } from '../support/avro-arbitraries.ts';
import { decodeRows, readRow } from '../support/avro-decoding.ts';
import { fastAvroPython, readWithFastAvro } from '../support/fastavro.ts';

const EDGES = [
  '{"id":9223372036854775807,"issuePrice":-99999999999999999999.999999999999999999,"denomination":1E-18}',
  '{"id":-9223372036854775808,"issuePrice":0.3333333333333333333333333333,"new":[1.0],"name":"\\ud83d\\ude00 \\ud800"}',
  '{"id":0,"issuePrice":0e5,"paymentDate":"0001-01-01","repaymentDate":"9999-12-31","initialFixingTime":"1900-01-01 00:00:00"}',
];

test('fastavro, in Python, reads in our values what we read in them', async (t) => {
  const python = await fastAvroPython();
  if (python === null) return t.skip('no python3 with fastavro can be had here');
  const samples = fc.sample(recordSamples(parseSchema(readSchemaText('Instrument'))), 200).map(({ json }) => json);
  const { rows } = await decodeRows([...EDGES, ...samples]);
  const values = rows.map((row) => (row.kind === 'record' ? row.value : Buffer.alloc(0)));
  assert.deepEqual(await readWithFastAvro(python, 'Instrument', values), rows.map(readRow));
});
