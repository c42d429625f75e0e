import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { canonicalSchema, parseSchema } from '../../../../src/records/avro/schema.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { temporaryFolder } from '../../../support/runner/temporary-folder.ts';

test('the instrument within events and checks is the schema of instruments', () => {
  const own = canonicalSchema(parseSchema(readSchemaText('Instrument')));
  for (const name of ['InstrumentEvent', 'PreTradeCheck'] as const) {
    const field = parseSchema(readSchemaText(name)).fields.find((known) => known.name === 'instrument');
    assert.ok(field?.node.kind === 'nullable' && field.node.inner.kind === 'record');
    assert.equal(canonicalSchema(field.node.inner), own);
  }
});

test('a schema that is named twice is written out once, and only where a type stands', (t) => {
  const folder = temporaryFolder(t);
  const list = { type: 'array', items: 'Instrument' };
  const fields = [
    { name: 'Instrument', type: ['null', list], default: null, doc: 'Instrument' },
    { name: 'b', type: ['null', 'Instrument'], default: null },
  ];
  const inner = { type: 'record', name: 'Instrument', fields: [{ name: 'id', type: 'long' }] };
  writeFileSync(join(folder, 'Instrument.avsc'), JSON.stringify(inner));
  const outer = { type: 'record', name: 'PreTradeCheck', fields };
  writeFileSync(join(folder, 'PreTradeCheck.avsc'), JSON.stringify(outer, null, 2));
  assert.deepEqual(JSON.parse(readSchemaText('PreTradeCheck', folder)), {
    ...outer,
    fields: [{ ...fields[0], type: ['null', { ...list, items: inner }] }, fields[1]],
  });
});
