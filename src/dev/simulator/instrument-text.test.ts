import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSchemaText } from '../../records/avro/schema-files.ts';
import { createInstrumentText } from './universe/instrument-text.ts';
import { type InstrumentVersion, ISSUED } from './universe/instrument-version.ts';
import { LIST_FORM } from './universe/text-template.ts';

const text = createInstrumentText({ seed: 1, myShare: 0.25 });
const IDS = Array.from({ length: 400 }, (_, at) => 1_000_000n + BigInt(at * 7));
const LATER: InstrumentVersion = {
  number: 9,
  dataChanges: 2,
  adjustments: 1,
  breachedAt: ['2026-02-03 14:05:06'],
  couponsPaid: 2,
  repaidOn: '2026-02-04',
  raw: null,
};
const listed = IDS.flatMap((id, at) => text.write(id, at % 2 === 0 ? ISSUED : LATER, LIST_FORM));

/** The paths of all members of JSON values, such as `underlyings.monitors.level`. A path contains no array indexes. */
function membersOf(value: unknown, path: string, found: Set<string>): Set<string> {
  if (Array.isArray(value)) for (const item of value) membersOf(item, path, found);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const name = path === '' ? key : `${path}.${key}`;
      membersOf(item, name, found.add(name));
    }
  }
  return found;
}

interface AvroRecord {
  readonly name?: string;
  readonly fields?: readonly { readonly name: string; readonly type: AvroType }[];
  readonly items?: AvroType;
}
type AvroType = string | AvroRecord | readonly AvroType[];

/** The paths of a schema's fields. `named`: the record types so far. A schema describes a type once, then names it. */
function fieldsOf(type: AvroType, path: string, named = new Map<string, AvroRecord>()): string[] {
  if (Array.isArray(type)) return type.flatMap((one) => fieldsOf(one, path, named));
  const { name, fields, items } = (typeof type === 'string' ? (named.get(type) ?? {}) : type) as AvroRecord;
  if (items !== undefined) return fieldsOf(items, path, named);
  if (fields === undefined || name === undefined) return [];
  named.set(name, { name, fields });
  return fields.flatMap((field) => {
    const place = path === '' ? field.name : `${path}.${field.name}`;
    return [place, ...fieldsOf(field.type, place, named)];
  });
}

test('every field of the interface occurs, and no other field', () => {
  const found = membersOf(
    listed.map((row) => JSON.parse(row)),
    '',
    new Set(),
  );
  // The provider sends neither of these two fields: the connector adds them.
  const sent = fieldsOf(JSON.parse(readSchemaText('Instrument')), '').filter((name) => !/^(isin|extras)$/.test(name));
  assert.deepEqual([...found].sort(), sent.sort());
});

test('numbers come with 18 and 28 fraction digits, trailing zeros, exponents and minus signs', () => {
  const all = listed.join('\n');
  assert.match(all, /:\d+\.\d{18}[,}]/);
  assert.match(all, /:\d+\.\d{28}[,}]/);
  assert.match(all, /:\d+\.\d*0[,}]/);
  assert.match(all, /:\d+(\.\d+)?[eE]-?\d+[,}]/);
  assert.match(all, /:-\d+\.\d+[,}]/);
});
