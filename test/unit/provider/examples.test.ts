import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { readInstrumentsOffset, writeInstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';
import { chunked, decodeRows, readRow } from '../../support/decoding/avro-decoding.ts';
import { bulkPricesFrom, questionsFor, recordsOf } from '../../support/decoding/bulk-answers.ts';
import { checkDecoder, decodeEvents, reader } from '../../support/decoding/stream-decoding.ts';

// biome-ignore lint/suspicious/noExplicitAny: responses of another party.
type Json = any;

const read = (path: string): Json => JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'));
const examples: readonly { readonly request: string; readonly status: number; readonly response: Json }[] =
  read('src/provider/examples.json');
const KINDS: Readonly<Record<string, 'overview' | 'daily' | 'intraday'>> = {
  ProductPriceOverviewResponse: 'overview',
  ProductDailyPriceResponse: 'daily',
  ProductIntradayPriceResponse: 'intraday',
};

function responseOf(beginning: string): Json {
  return examples.find(({ request }) => request.startsWith(beginning))?.response ?? assert.fail(beginning);
}

const texts = (rows: readonly Json[]) => rows.map((row) => JSON.stringify(row));

test('each row of the example responses of reference data becomes a record, and no field of it is unknown', async () => {
  const page = await decodeRows(texts(responseOf('GET /v1/instruments?').instruments));
  const events = await decodeEvents(texts(responseOf('GET /v1/instruments/events').events));
  const checks = await checkDecoder().decode(chunked(JSON.stringify(responseOf('GET /v1/pretradechecks?'))));
  const single = responseOf('GET /v1/pretradechecks/id');
  const one = await checkDecoder().decode(chunked(JSON.stringify({ preTradeChecks: [single], links: { next: '' } })));
  const records = [
    ...page.rows.map(readRow),
    ...[...events, ...checks.rows, ...one.rows].map((row) => {
      if (row.kind === 'failure') assert.fail(`${row.pointer}: ${row.reason}`);
      return reader.read(row.kind === 'event' ? row.eventValue : row.value);
    }),
  ];
  assert.ok(records.length >= 5);
  for (const { extras } of records) assert.equal(extras, null);
});

test('each item of the example of a bulk response becomes its prices, or its problem', async () => {
  for (const item of responseOf('POST /v1/products/bulk').items) {
    const { isin } = item.responseIdentifier;
    const { prices } = bulkPricesFrom(JSON.stringify({ errors: item.response === null, items: [item] }));
    const kind = KINDS[item.response?.$type] ?? 'overview';
    const response = await prices.ask(kind, questionsFor([isin]), new AbortController().signal);
    if (item.response === null) assert.equal(response.answers[0]?.kind, 'problem');
    else for (const { extras } of recordsOf(response)) assert.equal(extras, null);
  }
});

/** The fields of a record that its schema lacks, with their places. */
function unknownFields(value: Json, schema: Json, path: string): string[] {
  const type = (Array.isArray(schema) ? schema : [schema]).find((one) => one !== 'null');
  if (type?.type === 'array' && Array.isArray(value)) {
    return value.flatMap((one) => unknownFields(one, type.items, `${path}[]`));
  }
  if (type?.type !== 'record' || value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = type.fields.find((one: Json) => one.name === name);
    return field ? unknownFields(inner, field.type, `${path}/${name}`) : [`${path}/${name}`];
  });
}

test('schemas/samples.json has a record of each topic, with fields that its schema has', () => {
  const rows = [
    ...readFileSync(new URL('../../../schemas/README.md', import.meta.url), 'utf8').matchAll(
      /^\| `<prefix>\.([a-z-]+)` \|[^|]*\| (?:Avro `(\w+)`)?/gm,
    ),
  ];
  const samples: readonly Json[] = read('schemas/samples.json');
  const topics = samples.map(({ topic }) => topic.replace('structured-products.', ''));
  const expected = rows.map(([, topic]) => topic);
  assert.deepEqual(topics, expected);
  for (const [at, [, topic = '', schema]] of rows.entries()) {
    if (schema === undefined) continue;
    const unknown = unknownFields(samples[at].value, JSON.parse(readSchemaText(schema as 'Instrument')), topic);
    assert.deepEqual(unknown, []);
    // Only instruments are shortened.
    const names: readonly string[] = JSON.parse(readSchemaText(schema as 'Instrument')).fields.map(
      ({ name }: Json) => name,
    );
    const own = (name: string) => name !== 'instrument' || schema !== 'InstrumentEvent';
    if (schema !== 'Instrument')
      assert.deepEqual(Object.keys(samples[at].value).filter(own).sort(), names.filter(own).sort());
  }
  const offset = samples.find(({ topic }) => topic.endsWith('.offsets')).value;
  const committed = readInstrumentsOffset(offset, 'instruments', 'scope=all');
  assert.deepEqual(writeInstrumentsOffset(committed, offset.walkIntervalMs), offset);
});
