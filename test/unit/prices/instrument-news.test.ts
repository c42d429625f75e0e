import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { type ReadInstrument, readInstrument } from '../../../src/prices/read-table.ts';
import { NO_TERMS } from '../../../src/records/avro/instrument-terms.ts';
import { createPricedInstrumentReader } from '../../../src/records/avro/priced-instrument-reader.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { decodeRow, SCHEMA_ID } from '../../support/decoding/avro-decoding.ts';

const forever = new AbortController().signal;
const refused = new ConnectorError('REGISTRY_REFUSED', 'not there', { fields: { status: 404, errorCode: 40403 } });

async function instrumentValue(row: string): Promise<Buffer> {
  const decoded = await decodeRow(row);
  assert.ok(decoded.kind === 'record');
  return decoded.value;
}

async function loaded(id = SCHEMA_ID) {
  const isins = createPricedInstrumentReader(async (asked) => {
    if (asked === SCHEMA_ID) return readSchemaText('Instrument');
    if (asked === 8) return readSchemaText('Notification');
    throw refused;
  });
  await isins.load(id, forever);
  return isins;
}

const at = (key: string | null, value: Buffer | null) => ({
  key: key === null ? null : Buffer.from(key),
  value,
  offset: 4n,
});

test('an instrument has its isin, none, or has left', async () => {
  const isins = await loaded();
  const identifiers = '"identifiers":[{"type":"ISIN","value":"CH0000000001"}],"name":"a note"';
  const live = await instrumentValue(`{"id":7,${identifiers}}`);
  assert.deepEqual(readInstrument(at('7', live), isins), {
    id: '7',
    news: { kind: 'live', isin: 'CH0000000001', terms: NO_TERMS },
  });
  const without = await instrumentValue('{"id":9007199254740993,"name":"a note"}');
  const big = '9007199254740993';
  assert.deepEqual(readInstrument(at(big, without), isins), {
    id: big,
    news: { kind: 'live', isin: null, terms: NO_TERMS },
  });
  assert.deepEqual(readInstrument(at('7', null), isins), { id: '7', news: { kind: 'gone' } });
});

for (const key of ['9223372036854775808', '-9223372036854775809', '9999999999999999999', '007', '-0', '']) {
  test(`a record under the key "${key}" is none of an instrument: its prices would name another id`, async () => {
    const { news } = readInstrument(at(key, await instrumentValue('{"id":7}')), await loaded()) as ReadInstrument;
    assert.equal(news.kind, 'unreadable');
  });
}

test('the ids at the ends of 64 bits are ids', async () => {
  const [value, isins] = [await instrumentValue('{"id":7}'), await loaded()];
  for (const key of ['9223372036854775807', '-9223372036854775808', '0', '-1']) {
    assert.deepEqual(readInstrument(at(key, value), isins), {
      id: key,
      news: { kind: 'live', isin: null, terms: NO_TERMS },
    });
  }
});

test('the schema of a record is asked for once it is needed', async () => {
  const isins = createPricedInstrumentReader(async () => readSchemaText('Instrument'));
  const value = await instrumentValue('{"id":7}');
  assert.deepEqual(readInstrument(at('7', value), isins), { unknownSchemaId: SCHEMA_ID });
  await isins.load(SCHEMA_ID, forever);
  assert.deepEqual(readInstrument(at('7', value), isins), {
    id: '7',
    news: { kind: 'live', isin: null, terms: NO_TERMS },
  });
});

test('a registry that does not answer is no answer, nor is a gateway without such a page while it restarts', async () => {
  const gateway = new ConnectorError('REGISTRY_REFUSED', '404', { fields: { status: 404, errorCode: null } });
  for (const error of [new ConnectorError('REGISTRY_UNREACHABLE', 'down'), gateway]) {
    const isins = createPricedInstrumentReader(async () => Promise.reject(error));
    await assert.rejects(isins.load(7, forever), error);
  }
});

const wire = (schemaId: number, ...bytes: number[]) => Buffer.from([0, 0, 0, 0, schemaId, ...bytes]);
const POISON: readonly (readonly [what: string, key: string | null, value: Buffer, schemaId: number])[] = [
  ['text', '7', Buffer.from('{"id":7}'), SCHEMA_ID],
  ['an empty value', '7', Buffer.alloc(0), SCHEMA_ID],
  ['a cut record', '7', wire(SCHEMA_ID, 14), SCHEMA_ID],
  ['an unknown schema', '7', wire(99, 1, 2, 3), 99],
  ['a record of another schema', '7', wire(8, 1, 2, 3), 8],
  ['no key', null, Buffer.from('x'), SCHEMA_ID],
  ['a key that is no id', 'seven', Buffer.from('x'), SCHEMA_ID],
];

for (const [what, key, value, schemaId] of POISON) {
  test(`${what} is a record that cannot be read, reported with its bytes and without quoting them`, async () => {
    const read = readInstrument(at(key, value), await loaded(schemaId));
    assert.ok('news' in read && read.news.kind === 'unreadable');
    assert.equal(read.news.key, key);
    assert.ok(read.news.value.equals(value));
    assert.doesNotMatch(read.news.reason, /seven|\{"id/);
    assert.equal(read.id, key === '7' ? '7' : 'at 4');
  });
}
