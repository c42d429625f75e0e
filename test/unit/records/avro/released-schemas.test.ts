import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseSchema, type RecordNode, type SchemaNode } from '../../../../src/records/avro/schema.ts';
import { readSchemaText, SCHEMA_NAMES } from '../../../../src/records/avro/schema-files.ts';
import { incompatibilities } from '../../../support/decoding/avro-compatibility.ts';

const SCHEMAS = join(import.meta.dirname, '../../../../schemas');
const RELEASED = join(SCHEMAS, 'released');

const text = (...path: string[]) => readFileSync(join(...path), 'utf8');
const names = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.avsc'));

const nameOf = (file: string) => SCHEMA_NAMES.find((name) => file === `${name}.avsc`) ?? 'Instrument';

for (const release of readdirSync(RELEASED)) {
  for (const file of names(join(RELEASED, release))) {
    test(`${file} and the one of release ${release} read each other's records`, () => {
      const released = parseSchema(readSchemaText(nameOf(file), join(RELEASED, release)));
      assert.deepEqual(incompatibilities(released, parseSchema(readSchemaText(nameOf(file)))), []);
    });
  }
}

test('every schema has been released', () => {
  const released = new Set(readdirSync(RELEASED).flatMap((release) => names(join(RELEASED, release))));
  assert.deepEqual(
    names(SCHEMAS).filter((name) => !released.has(name)),
    [],
  );
});

const KEYS = {
  Instrument: ['/id'],
  InstrumentEvent: ['/id', '/instrument/id'],
  PreTradeCheck: ['/preTradeCheckId', '/instrument/id'],
  PriceSnapshot: ['/instrumentId'],
  DailyPrice: ['/instrumentId', '/fields', '/date'],
  IntradayPrice: ['/instrumentId', '/interval', '/fields', '/windowOpenTimestamp'],
  Notification: ['/source'],
};

for (const name of SCHEMA_NAMES) {
  test(`every field of ${name} but the key may be null and is null by default`, () => {
    assert.deepEqual(requiredFields(parseSchema(readSchemaText(name)), ''), KEYS[name]);
  });
}

function requiredFields(node: SchemaNode, path: string): string[] {
  if (node.kind === 'nullable') return requiredFields(node.inner, path);
  if (node.kind === 'array') return requiredFields(node.items, path);
  return node.kind === 'record' ? requiredOf(node, path) : [];
}

function requiredOf(node: RecordNode, path: string): string[] {
  return node.fields.flatMap((field) => {
    const below = requiredFields(field.node, `${path}/${field.name}`);
    return field.node.kind === 'nullable' && field.default === null ? below : [`${path}/${field.name}`, ...below];
  });
}

// The comparison itself must see each of these.
const CHANGES: readonly { what: string; from: string; to: string; found: RegExp }[] = [
  { what: 'another decimal scale', from: '"scale": 18', to: '"scale": 17', found: /scale.*became/ },
  { what: 'another decimal precision', from: '"precision": 38', to: '"precision": 37', found: /precision.*became/ },
  {
    what: 'a date that became a string',
    from: '{"type": "int", "logicalType": "date"}',
    to: '"string"',
    found: /became/,
  },
  {
    what: 'a lost null',
    from: '"type": ["null", "boolean"], "default": null',
    to: '"type": "boolean"',
    found: /nullable became scalar/,
  },
  {
    what: 'a lost default',
    from: '"default": null, "doc": "Issue price."',
    to: '"doc": "Issue price."',
    found: /default/,
  },
  { what: 'a renamed record', from: '"name": "Coupon"', to: '"name": "Kupon"', found: /renamed/ },
  {
    what: 'a key that went',
    from: '{ "name": "id", "type": "long"',
    to: '{ "name": "key", "type": ["null", "long"], "default": null',
    found: /taken away without default/,
  },
];

for (const { what, from, to, found } of CHANGES) {
  test(`the comparison finds ${what}`, () => {
    const before = text(SCHEMAS, 'Instrument.avsc');
    const after = before.replace(from, to);
    assert.notEqual(after, before, 'the change must hit something');
    assert.match(incompatibilities(parseSchema(before), parseSchema(after)).join('\n'), found);
  });
}
