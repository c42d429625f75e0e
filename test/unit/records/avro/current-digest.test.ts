import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import { createCurrentDigests } from '../../../../src/records/avro/current-digest.ts';
import { recordDigest } from '../../../../src/records/avro/record-digest.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { decodeRow, SCHEMA_ID } from '../../../support/decoding/avro-decoding.ts';

const schema = readSchemaText('Instrument');
const EARLIER_ID = 6;
const ROW = '{"id":9007199254740993,"name":"a","issuePrice":0.1234567890123456789,"direction":"long","new":{"a":1}}';

/** The schema as it may have been before a field was added. */
function without(field: string): string {
  const parsed = JSON.parse(schema) as { fields: { name: string }[] };
  return JSON.stringify({ ...parsed, fields: parsed.fields.filter(({ name }) => name !== field) });
}

async function encoded(row: string, options: Parameters<typeof decodeRow>[1] = {}): Promise<Buffer> {
  const decoded = await decodeRow(row, options);
  assert.ok(decoded.kind === 'record');
  return decoded.value;
}

function digestsWith(schemas: Readonly<Record<number, string | Error>>) {
  const asked: number[] = [];
  const digests = createCurrentDigests({
    schema,
    schemaId: SCHEMA_ID,
    async schemaText(id) {
      asked.push(id);
      const text = schemas[id];
      if (text === undefined || text instanceof Error) throw text ?? new Error('asked for another');
      return text;
    },
  });
  return { digests, asked };
}

test('a record of the current schema has its digest, and the registry is not asked', async () => {
  const { digests, asked } = digestsWith({});
  const value = await encoded(ROW);
  assert.deepEqual(digests.of(value), { digest: recordDigest(value), isCurrentSchema: true });
  assert.deepEqual(asked, []);
});

test('a record of an earlier schema has the digest that the same row has now, once its schema is loaded', async () => {
  const { digests, asked } = digestsWith({ [EARLIER_ID]: without('exerciseType') });
  const earlier = await encoded(ROW, { schema: without('exerciseType'), schemaId: EARLIER_ID });
  assert.notEqual(recordDigest(earlier), recordDigest(await encoded(ROW)), 'the bytes differ');
  assert.deepEqual(digests.of(earlier), { unknownSchemaId: EARLIER_ID });
  await digests.load(EARLIER_ID);
  assert.deepEqual(digests.of(earlier), { digest: recordDigest(await encoded(ROW)), isCurrentSchema: false });
  const other = await encoded(ROW.replace('"a"', '"b"'), {
    schema: without('exerciseType'),
    schemaId: EARLIER_ID,
  });
  assert.notDeepEqual(digests.of(other), digests.of(earlier));
  assert.deepEqual(asked, [EARLIER_ID]);
});

test('what is no record of this program is reported as such, whatever is wrong with it', async () => {
  const notThere = new ConnectorError('REGISTRY_REFUSED', 'no such id', { fields: { status: 404, errorCode: 40403 } });
  const { digests } = digestsWith({ 1: 'syntax = "proto3";', 2: '"string"', 3: notThere, 4: schema });
  for (const id of [1, 2, 3, 4]) await digests.load(id);
  const value = await encoded(ROW, { schemaId: 4 });
  const broken = [
    value.subarray(0, -1),
    Buffer.concat([value, Buffer.of(0)]),
    Buffer.from('{"id":1}'),
    Buffer.alloc(0),
  ];
  for (const id of [1, 2, 3]) broken.push(await encoded(ROW, { schemaId: id }));
  for (const one of broken) assert.throws(() => digests.of(one), { code: 'RECORD_UNREADABLE' });
});

test('a registry that does not answer, or whose gateway knows no such page, is asked again', async () => {
  const schemas: Record<number, string | Error> = { 6: new ConnectorError('REGISTRY_UNREACHABLE', 'down') };
  const { digests } = digestsWith(schemas);
  await assert.rejects(digests.load(EARLIER_ID), { code: 'REGISTRY_UNREACHABLE' });
  schemas[EARLIER_ID] = new ConnectorError('REGISTRY_REFUSED', '404', { fields: { status: 404, errorCode: null } });
  await assert.rejects(digests.load(EARLIER_ID), { code: 'REGISTRY_REFUSED' });
  schemas[EARLIER_ID] = without('exerciseType');
  await digests.load(EARLIER_ID);
  const earlier = await encoded(ROW, { schema: without('exerciseType'), schemaId: EARLIER_ID });
  assert.ok('digest' in digests.of(earlier));
});
