// The plain way from JSON to Avro, by objects. At run time `src/records/decoding` does it; this is the oracle of its tests.

import type { AssumedZone } from '../../src/records/avro/instant.ts';
import type { AvroRecord, AvroValue } from '../../src/records/avro/record-encoder.ts';
import type { FieldNode, RecordNode, SchemaNode } from '../../src/records/avro/schema.ts';
import { jsonTextMapper, type ScalarMapper, scalarMapper } from './scalar-mapping.ts';

/** A schema prepared for mapping: names in both spellings, leaves as functions. */
export type MappingNode =
  | { readonly kind: 'scalar'; readonly map: ScalarMapper }
  | { readonly kind: 'array'; readonly items: MappingNode }
  | { readonly kind: 'nullable'; readonly inner: MappingNode }
  | WholeMapping
  | RecordMapping;

/** A record with a field for unknown members: what is found within it stays within it, by pointers that begin at it. */
export interface WholeMapping {
  readonly kind: 'whole';
  readonly record: RecordMapping;
  /** The name of the field for what the schema does not know. */
  readonly unknownFields: string;
}

export interface RecordMapping {
  readonly kind: 'record';
  readonly members: readonly MemberMapping[];
  readonly memberNames: ReadonlySet<string>;
  /** A member that is known and has no field. */
  readonly discriminator: string | null;
  /** From the spelling with a capital first letter to the schema's. */
  readonly byCapitalised: ReadonlyMap<string, string>;
  readonly derived: readonly DerivedField[];
  /** A new record with every field null, in the schema's order: all records of a kind have one shape. */
  readonly blank: () => Record<string, AvroValue>;
}

export interface MemberMapping {
  readonly name: string;
  readonly capitalised: string;
  readonly node: MappingNode;
}

export interface DerivedField {
  readonly name: string;
  readonly value: (record: AvroRecord) => AvroValue;
}

/** @throws Error when the schema has no field for what it does not know: then something could be lost. */
export function compileMapping(schema: RecordNode, zone: AssumedZone | null): WholeMapping {
  const compiled = compileRecord(schema, zone);
  if (compiled.kind !== 'whole') throw new Error(`The schema ${schema.fullName} has no field for unknown members.`);
  return compiled;
}

function compileNode(node: SchemaNode, zone: AssumedZone | null): MappingNode {
  switch (node.kind) {
    case 'scalar':
      return { kind: 'scalar', map: scalarMapper(node, zone) };
    case 'array':
      return { kind: 'array', items: compileNode(node.items, zone) };
    case 'nullable':
      return { kind: 'nullable', inner: compileNode(node.inner, zone) };
    case 'record':
      return compileRecord(node, zone);
    case 'map':
      throw new Error('Maps are for unknown members only; nothing is mapped to them.');
  }
}

function compileRecord(node: RecordNode, zone: AssumedZone | null): WholeMapping | RecordMapping {
  const members = [
    ...node.fields.flatMap((field) => compileMember(field, node, zone)),
    ...compileEnvelopes(node, zone),
  ];
  const names = node.fields.map(({ name }) => name);
  const record = recordMapping(names, members, node.fields.flatMap(compileDerived), node.discriminator);
  const unknownFields = node.fields.find((field) => field.role.kind === 'unknownFields')?.name;
  return unknownFields === undefined ? record : { kind: 'whole', record, unknownFields };
}

function compileMember(field: FieldNode, { fields }: RecordNode, zone: AssumedZone | null): MemberMapping[] {
  const { name, node, role } = field;
  if (role.kind !== 'member') return [];
  // A key that is taken from a member makes that member a must, whatever the schema says of it.
  const isMust = fields.some(
    (other) => other.role.kind === 'takenFrom' && other.role.within === name && other.node.kind !== 'nullable',
  );
  return [memberMapping(name, compileNode(isMust && node.kind === 'nullable' ? node.inner : node, zone))];
}

// Objects that are sent around fields of the record and are no fields themselves.
function compileEnvelopes({ fields }: RecordNode, zone: AssumedZone | null): MemberMapping[] {
  const envelopes = new Map<string, MemberMapping[]>();
  for (const { node, role } of fields) {
    if (role.kind !== 'takenFrom' || fields.some(({ name }) => name === role.within)) continue;
    const text: MappingNode = { kind: 'nullable', inner: { kind: 'scalar', map: jsonTextMapper() } };
    const member = memberMapping(role.member, role.jsonText ? text : compileNode(node, zone));
    envelopes.set(role.within, [...(envelopes.get(role.within) ?? []), member]);
  }
  return [...envelopes].map(([name, members]) => {
    const names = members.map((member) => member.name);
    return memberMapping(name, { kind: 'nullable', inner: recordMapping(names, members, [], null) });
  });
}

function recordMapping(
  fields: readonly string[],
  members: readonly MemberMapping[],
  derived: readonly DerivedField[],
  discriminator: string | null,
): RecordMapping {
  const empty = Object.fromEntries(fields.map((name) => [name, null]));
  return {
    kind: 'record',
    members,
    memberNames: new Set([...members.map(({ name }) => name), ...(discriminator === null ? [] : [discriminator])]),
    byCapitalised: new Map(members.map(({ name, capitalised }) => [capitalised, name])),
    derived,
    discriminator,
    blank: () => ({ ...empty }),
  };
}

function memberMapping(name: string, node: MappingNode): MemberMapping {
  return { name, capitalised: capitalise(name), node };
}

function compileDerived(field: FieldNode): DerivedField[] {
  const { name, role } = field;
  if (role.kind === 'firstOf') return [{ name, value: (record) => firstOf(record[role.list], role.type) }];
  if (role.kind === 'takenFrom') return [{ name, value: (record) => memberOf(record[role.within], role.member) }];
  return [];
}

// What stands in a record at that place is a record or null, since it was mapped as such.
function memberOf(record: AvroValue | undefined, name: string): AvroValue {
  return (record as AvroRecord | null | undefined)?.[name] ?? null;
}

function firstOf(list: AvroValue | undefined, type: string): AvroValue {
  if (!Array.isArray(list)) return null;
  for (const element of list as readonly AvroRecord[]) {
    const value = element.value ?? null;
    if (value !== null && value !== '' && typeof element.type === 'string' && element.type.toLowerCase() === type)
      return value;
  }
  return null;
}

function capitalise(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
