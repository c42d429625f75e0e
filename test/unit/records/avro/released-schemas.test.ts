import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  canonicalSchema,
  type FieldNode,
  parseSchema,
  type RecordNode,
  type SchemaNode,
} from '../../../../src/records/avro/schema.ts';
import { readSchemaText, SCHEMA_NAMES } from '../../../../src/records/avro/schema-files.ts';
import { temporaryFolder } from '../../../support/runner/temporary-folder.ts';

/**
 * What keeps two schemas from reading each other's records, in both directions, or changes what a value means. Stricter
 * than a registry: a changed decimal scale is an error by powers of ten that no registry refuses.
 */
function incompatibilities(released: SchemaNode, current: SchemaNode, path = ''): string[] {
  if (released.kind !== current.kind) return [`${path}: ${released.kind} became ${current.kind}`];
  if (released.kind === 'nullable' && current.kind === 'nullable') {
    return incompatibilities(released.inner, current.inner, path);
  }
  if (released.kind === 'array' && current.kind === 'array') {
    return incompatibilities(released.items, current.items, `${path}[]`);
  }
  if (released.kind === 'map' && current.kind === 'map') {
    return incompatibilities(released.values, current.values, `${path}{}`);
  }
  if (released.kind === 'record' && current.kind === 'record') return recordIncompatibilities(released, current, path);
  const [before, after] = [JSON.stringify(released), JSON.stringify(current)];
  return before === after ? [] : [`${path}: ${before} became ${after}`];
}

function recordIncompatibilities(released: RecordNode, current: RecordNode, path: string): string[] {
  const found: string[] = [];
  if (released.fullName !== current.fullName) found.push(`${path}: renamed to ${current.fullName}`);
  const before = new Map(released.fields.map((field) => [field.name, field]));
  const after = new Map(current.fields.map((field) => [field.name, field]));
  for (const [name, field] of before) {
    const now = after.get(name);
    if (now === undefined) found.push(...withoutDefault(field, `${path}/${name}: taken away`));
    else {
      found.push(...incompatibilities(field.node, now.node, `${path}/${name}`));
      if (field.default !== now.default) found.push(`${path}/${name}: another default`);
    }
  }
  for (const [name, field] of after) {
    if (!before.has(name)) found.push(...withoutDefault(field, `${path}/${name}: added`));
  }
  return found;
}

function withoutDefault(field: FieldNode, what: string): string[] {
  return field.default === null && field.node.kind === 'nullable' ? [] : [`${what} without default null`];
}

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
  const unreleased = names(SCHEMAS).filter((name) => !released.has(name));
  assert.deepEqual(unreleased, []);
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
