import type { AvroRecord, AvroValue } from './avro-value.ts';
import { type ScalarMapper, scalarMapper } from './scalar-mapping.ts';
import type { FieldNode, RecordNode, SchemaNode } from './schema.ts';

/** A schema prepared for mapping: names in both spellings, leaves as functions. */
export type MappingNode =
  | { readonly kind: 'scalar'; readonly map: ScalarMapper }
  | { readonly kind: 'array'; readonly items: MappingNode }
  | { readonly kind: 'nullable'; readonly inner: MappingNode }
  | RecordMapping;

export interface RecordMapping {
  readonly kind: 'record';
  readonly members: readonly MemberMapping[];
  readonly memberNames: ReadonlySet<string>;
  /** From the spelling with a capital first letter to the schema's. */
  readonly byCapitalised: ReadonlyMap<string, string>;
  readonly derived: readonly DerivedField[];
  /** The name of the field for what the schema does not know; null for records that are never at the top. */
  readonly unknownFields: string | null;
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
export function compileMapping(schema: RecordNode): RecordMapping {
  const compiled = compileRecord(schema);
  if (compiled.unknownFields === null)
    throw new Error(`The schema ${schema.fullName} has no field for unknown members.`);
  return compiled;
}

function compileNode(node: SchemaNode): MappingNode {
  switch (node.kind) {
    case 'scalar':
      return { kind: 'scalar', map: scalarMapper(node) };
    case 'array':
      return { kind: 'array', items: compileNode(node.items) };
    case 'nullable':
      return { kind: 'nullable', inner: compileNode(node.inner) };
    case 'record':
      return compileRecord(node);
    case 'map':
      throw new Error('Maps are for unknown members only; nothing is mapped to them.');
  }
}

function compileRecord(node: RecordNode): RecordMapping {
  const members = node.fields
    .filter((field) => field.role.kind === 'member')
    .map(({ name, node: fieldNode }) => ({ name, capitalised: capitalise(name), node: compileNode(fieldNode) }));
  const empty = Object.fromEntries(node.fields.map((field) => [field.name, null]));
  return {
    kind: 'record',
    members,
    memberNames: new Set(members.map(({ name }) => name)),
    byCapitalised: new Map(members.map(({ name, capitalised }) => [capitalised, name])),
    derived: node.fields.flatMap(compileDerived),
    unknownFields: node.fields.find((field) => field.role.kind === 'unknownFields')?.name ?? null,
    blank: () => ({ ...empty }),
  };
}

function compileDerived(field: FieldNode): DerivedField[] {
  if (field.role.kind !== 'firstOf') return [];
  const { list, type } = field.role;
  return [{ name: field.name, value: (record) => firstOf(record[list], type) }];
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
