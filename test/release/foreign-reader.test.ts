import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseSchema } from '../../src/records/avro/schema.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import { recordSamples } from '../support/decoding/avro-arbitraries.ts';
import { decodeRows, readRow } from '../support/decoding/avro-decoding.ts';
import { answersOf, bulkBody, pricedItem, priceReader } from '../support/decoding/bulk-answers.ts';
import { fastAvroPython, readWithFastAvro } from '../support/decoding/fastavro.ts';

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

const PRICES = [
  { kind: 'overview', schema: 'PriceSnapshot', type: 'ProductPriceOverviewResponse' },
  { kind: 'daily', schema: 'DailyPrice', type: 'ProductDailyPriceResponse' },
  { kind: 'intraday', schema: 'IntradayPrice', type: 'ProductIntradayPriceResponse' },
] as const;

test('fastavro reads the same in prices of every kind, instants far away included', async (t) => {
  const python = await fastAvroPython();
  if (python === null) return t.skip('no python3 with fastavro can be had here');
  for (const { kind, schema, type } of PRICES) {
    const samples = fc.sample(recordSamples(parseSchema(readSchemaText(schema))), 100).map(({ json }) => json);
    const edge =
      '{"lastOpen":0.3333333333333333333333333333,"lastOpenObservedAtTimestamp":"9999-12-31T23:59:59.9999985Z"}';
    const members =
      kind === 'overview' ? [edge, ...samples].map((json) => json.slice(1, -1)) : [`"prices":[${samples.join(',')}]`];
    const isins = members.map((_, index) => `CH${index}`);
    const items = members.map((text, index) => pricedItem(isins[index] ?? '', text, type));
    const { answers } = await answersOf(bulkBody(items, false), isins, { kind, chunkBytes: 60_000 });
    const values = answers.flatMap((one) => (one.kind === 'prices' ? one.records.map(({ value }) => value) : []));
    assert.ok(values.length > 50, kind);
    assert.deepEqual(
      await readWithFastAvro(python, schema, values),
      values.map((value) => priceReader.read(value)),
    );
  }
});
