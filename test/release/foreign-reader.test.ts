import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ReadableRecord, ReadableValue } from '../../src/records/avro/record-reader.ts';
import {
  type FieldNode,
  parseSchema,
  type RecordNode,
  type ScalarNode,
  type SchemaNode,
} from '../../src/records/avro/schema.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import { decodeRows, readRow } from '../support/decoding/avro-decoding.ts';
import { answersOf, bulkBody, pricedItem, priceReader } from '../support/decoding/bulk-answers.ts';
import { fastAvroPython, readWithFastAvro } from '../support/decoding/fastavro.ts';

/** A JSON text beside what a record that was read back must show for it. */
interface Sample {
  readonly json: string;
  readonly expected: ReadableValue;
}

const ABSENT: Sample = { json: '', expected: null };
const NULL: Sample = { json: 'null', expected: null };

/** Objects of a schema in every legal spelling, with values that are known exactly without asking the code under test. */
function recordSamples(node: RecordNode): fc.Arbitrary<{ json: string; expected: ReadableRecord }> {
  const members = node.fields.filter((field) => field.role.kind === 'member');
  return fc
    .record({
      samples: fc.tuple(...members.map(memberSamples)),
      capitalised: fc.boolean(),
      reversed: fc.boolean(),
      space: fc.constantFrom('', ' ', '\n\t'),
    })
    .map(({ samples, capitalised, reversed, space }) => {
      const present = members.flatMap(({ name }, index) => {
        const { json } = samples[index] ?? ABSENT;
        const key = capitalised ? name.charAt(0).toUpperCase() + name.slice(1) : name;
        return json === '' ? [] : [`${space}"${key}"${space}:${json}`];
      });
      const expected = Object.fromEntries(node.fields.map(({ name }) => [name, null as ReadableValue]));
      for (const [index, { name }] of members.entries()) expected[name] = samples[index]?.expected ?? null;
      return { json: `{${(reversed ? present.reverse() : present).join(',')}}`, expected };
    });
}

function memberSamples(field: FieldNode): fc.Arbitrary<Sample> {
  if (field.node.kind !== 'nullable') return valueSamples(field.node);
  const { inner } = field.node;
  return fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(ABSENT, NULL) },
    { weight: 4, arbitrary: valueSamples(inner) },
  );
}

function valueSamples(node: SchemaNode): fc.Arbitrary<Sample> {
  switch (node.kind) {
    case 'array':
      return fc.array(valueSamples(node.items), { maxLength: 2 }).map((items) => ({
        json: `[${items.map(({ json }) => json).join(',')}]`,
        expected: items.map(({ expected }) => expected),
      }));
    case 'record':
      return recordSamples(node);
    case 'scalar':
      return scalarSamples(node);
    default:
      throw new Error(`Nothing is sent as ${node.kind}.`);
  }
}

function scalarSamples(node: ScalarNode): fc.Arbitrary<Sample> {
  const quoted = (expected: string) => ({ json: JSON.stringify(expected), expected });
  switch (node.logical?.name ?? node.avro) {
    case 'decimal':
      return decimalSamples();
    case 'date':
      return moments().map((text) => quoted(text.slice(0, 10)));
    case 'local-timestamp-millis':
      return moments().map((text) => quoted(text.slice(0, 19).replace('T', ' ')));
    case 'timestamp-micros':
      return instantSamples();
    case 'boolean':
      return fc.boolean().map((expected) => ({ json: String(expected), expected }));
    case 'long':
      return fc
        .oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -200n, max: 200n }))
        .map((integer) => ({ json: String(integer), expected: String(integer) }));
    default:
      return fc.oneof(fc.string({ unit: 'grapheme', maxLength: 12 }), fc.string({ maxLength: 90 })).map(quoted);
  }
}

function moments(): fc.Arbitrary<string> {
  const [min, max] = [new Date('0001-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')];
  return fc.date({ min, max, noInvalidDate: true }).map((date) => date.toISOString());
}

// With up to six fraction digits and any offset, written in different ways.
function instantSamples(): fc.Arbitrary<Sample> {
  const [min, max] = [new Date('0001-01-02T00:00:00Z'), new Date('9999-12-30T00:00:00Z')];
  return fc
    .record({
      date: fc.date({ min, max, noInvalidDate: true }),
      fraction: fc.stringMatching(/^\d{0,6}$/),
      zeros: fc.nat(4),
      offsetMinutes: fc.integer({ min: -14 * 60, max: 14 * 60 }),
      form: fc.constantFrom('Z', 'z', '+hh:mm', '+hhmm'),
    })
    .map(({ date, fraction, zeros, offsetMinutes, form }) => {
      const part = fraction.replace(/0+$/, '');
      const expected = `${date.toISOString().slice(0, 19)}${part === '' ? '' : `.${part}`}Z`;
      const isUtc = form.length === 1;
      const local = new Date(date.getTime() + (isUtc ? 0 : offsetMinutes * 60_000)).toISOString().slice(0, 19);
      const digits = `${fraction}${fraction === '' ? '' : '0'.repeat(zeros)}`;
      const [hours, minutes] = [Math.trunc(Math.abs(offsetMinutes) / 60), Math.abs(offsetMinutes) % 60];
      const two = (number: number) => String(number).padStart(2, '0');
      const offset = `${offsetMinutes < 0 ? '-' : '+'}${two(hours)}${form === '+hhmm' ? '' : ':'}${two(minutes)}`;
      const text = `${local}${digits === '' ? '' : `.${digits}`}${isUtc ? form : offset}`;
      return { json: JSON.stringify(text), expected };
    });
}

// At most 20 integer and 18 fraction digits, written in different ways.
function decimalSamples(): fc.Arbitrary<Sample> {
  const digits = (most: number) => fc.stringMatching(new RegExp(`^\\d{0,${most}}$`));
  return fc
    .record({
      negative: fc.boolean(),
      integer: digits(20),
      fraction: digits(18),
      zeros: fc.nat(3),
      scientific: fc.boolean(),
    })
    .map(({ negative, integer, fraction, zeros, scientific }) => {
      const whole = integer.replace(/^0+/, '') || '0';
      const part = fraction.replace(/0+$/, '');
      const sign = negative ? '-' : '';
      const padded = `${fraction}${'0'.repeat(zeros)}`;
      const plain = `${sign}${whole}${padded === '' ? '' : `.${padded}`}`;
      const shifted = `${sign}${`${whole}${fraction}`.replace(/^0+(?=\d)/, '')}E-${fraction.length}`;
      const isZero = whole === '0' && part === '';
      const expected = isZero ? '0' : `${sign}${whole}${part === '' ? '' : `.${part}`}`;
      return { json: scientific ? shifted : plain, expected };
    });
}

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
    const expected = values.map((value) => priceReader.read(value));
    assert.deepEqual(await readWithFastAvro(python, schema, values), expected);
  }
});
