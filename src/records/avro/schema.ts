export type SchemaNode =
  | ScalarNode
  | RecordNode
  | { readonly kind: 'array'; readonly items: SchemaNode }
  | { readonly kind: 'map'; readonly values: SchemaNode }
  | { readonly kind: 'nullable'; readonly inner: SchemaNode };

type AvroPrimitive = 'boolean' | 'int' | 'long' | 'string' | 'bytes';

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly avro: AvroPrimitive;
  readonly logical: LogicalType | null;
}

type LogicalType =
  | { readonly name: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly name: 'date' | 'local-timestamp-millis' | 'timestamp-millis' | 'timestamp-micros' };

export interface RecordNode {
  readonly kind: 'record';
  readonly fullName: string;
  readonly doc: string;
  readonly fields: readonly FieldNode[];
  /** The JSON member that only names the kind of content and has no field (attribute `discriminator`); else null. */
  readonly discriminator: string | null;
}

export interface FieldNode {
  readonly name: string;
  readonly doc: string;
  readonly node: SchemaNode;
  /** Undefined if the field has no default; null is a default value. */
  readonly default: unknown;
  readonly role: FieldRole;
}

type FieldRole =
  | { readonly kind: 'member' }
  /** The caller sets the value (attribute `given`); a JSON member of this name counts as unknown. */
  | { readonly kind: 'given' }
  /** The `value` of the first element of `list` whose `type` is this type, in any letter case (attribute `firstOf`). */
  | { readonly kind: 'firstOf'; readonly list: string; readonly type: string }
  /**
   * The value of the member `member` in the object `within` (attribute `takenFrom`: a JSON pointer of two steps). If
   * `within` is a field of this record, that field holds the object. `jsonText`: any value is kept, as its JSON text.
   */
  | { readonly kind: 'takenFrom'; readonly within: string; readonly member: string; readonly jsonText: boolean }
  /** All JSON members without a field (attribute `unknownFields`). */
  | { readonly kind: 'unknownFields' };

const PRIMITIVES: ReadonlySet<string> = new Set(['boolean', 'int', 'long', 'string', 'bytes']);

/** @throws Error for an Avro feature that this project does not use: a bug, because the schemas are ours */
export function parseSchema(text: string): RecordNode {
  const node = parseNode(JSON.parse(text), '', new Map());
  if (node.kind !== 'record') throw new Error('Expected a record schema at the top.');
  return node;
}

function parseNode(raw: unknown, namespace: string, named: Map<string, RecordNode>): SchemaNode {
  if (typeof raw === 'string') return parseName(raw, namespace, named);
  if (Array.isArray(raw)) {
    if (raw.length !== 2 || raw[0] !== 'null') throw new Error('Expected a union of the form ["null", T].');
    return { kind: 'nullable', inner: parseNode(raw[1], namespace, named) };
  }
  const attributes = asAttributes(raw);
  const type = attributes.type;
  if (type === 'array') return { kind: 'array', items: parseNode(attributes.items, namespace, named) };
  if (type === 'map') return { kind: 'map', values: parseNode(attributes.values, namespace, named) };
  if (type === 'record') return parseRecord(attributes, namespace, named);
  if (typeof type === 'string' && PRIMITIVES.has(type)) {
    return { kind: 'scalar', avro: type as AvroPrimitive, logical: parseLogical(attributes) };
  }
  return parseNode(type, namespace, named);
}

function parseName(name: string, namespace: string, named: ReadonlyMap<string, RecordNode>): SchemaNode {
  if (PRIMITIVES.has(name)) return { kind: 'scalar', avro: name as AvroPrimitive, logical: null };
  const known = named.get(qualified(name, namespace));
  if (known === undefined) throw new Error(`The schema names the type ${name} before it is defined.`);
  return known;
}

function parseRecord(
  attributes: Readonly<Record<string, unknown>>,
  outerNamespace: string,
  named: Map<string, RecordNode>,
): RecordNode {
  const namespace = typeof attributes.namespace === 'string' ? attributes.namespace : outerNamespace;
  const fullName = qualified(String(attributes.name), namespace);
  const ownNamespace = fullName.slice(0, Math.max(0, fullName.lastIndexOf('.')));
  if (!Array.isArray(attributes.fields)) throw new Error(`The record ${fullName} has no fields.`);
  const fields: FieldNode[] = [];
  const discriminator = typeof attributes.discriminator === 'string' ? attributes.discriminator : null;
  const record: RecordNode = { kind: 'record', fullName, doc: String(attributes.doc ?? ''), fields, discriminator };
  named.set(fullName, record);
  for (const field of attributes.fields.map(asAttributes)) {
    fields.push({
      name: String(field.name),
      doc: String(field.doc ?? ''),
      node: parseNode(field.type, ownNamespace, named),
      default: field.default,
      role: parseRole(field),
    });
  }
  return record;
}

function parseRole(field: Readonly<Record<string, unknown>>): FieldRole {
  if (field.unknownFields === true) return { kind: 'unknownFields' };
  if (field.given === true) return { kind: 'given' };
  if (field.takenFrom !== undefined) return parseTakenFrom(field);
  if (field.firstOf === undefined) return { kind: 'member' };
  const { list, type } = asAttributes(field.firstOf);
  return { kind: 'firstOf', list: String(list), type: String(type) };
}

function parseTakenFrom(field: Readonly<Record<string, unknown>>): FieldRole {
  const [root, within, member, ...more] = String(field.takenFrom).split('/');
  if (root !== '' || within === undefined || member === undefined || more.length > 0) {
    throw new Error(`The field ${String(field.name)} has a takenFrom that is not a pointer of two steps.`);
  }
  return { kind: 'takenFrom', within, member, jsonText: field.jsonText === true };
}

function parseLogical(attributes: Readonly<Record<string, unknown>>): LogicalType | null {
  const name = attributes.logicalType;
  if (name === undefined) return null;
  if (name === 'decimal' && attributes.type === 'bytes') {
    return { name, precision: Number(attributes.precision), scale: Number(attributes.scale ?? 0) };
  }
  if (name === 'date' && attributes.type === 'int') return { name };
  const isMoment = name === 'local-timestamp-millis' || name === 'timestamp-millis' || name === 'timestamp-micros';
  if (isMoment && attributes.type === 'long') return { name };
  throw new Error(`The logical type ${String(name)} is not supported.`);
}

function qualified(name: string, namespace: string): string {
  return name.includes('.') || namespace === '' ? name : `${namespace}.${name}`;
}

function asAttributes(raw: unknown): Readonly<Record<string, unknown>> {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw new Error('Expected a schema object.');
  return raw as Readonly<Record<string, unknown>>;
}

/**
 * Returns a schema as text, in a fixed order, with only the parts that affect the bytes and their meaning. Avro's
 * canonical form drops some of these parts: defaults, and the scale and precision of decimals. Two registries may print
 * one schema differently, but its text from this function is the same.
 */
export function canonicalSchema(schema: RecordNode): string {
  return JSON.stringify(canonical(schema, new Set()));
}

function canonical(node: SchemaNode, defined: Set<string>): unknown {
  switch (node.kind) {
    case 'scalar':
      return scalar(node);
    case 'nullable':
      return ['null', canonical(node.inner, defined)];
    case 'array':
      return { type: 'array', items: canonical(node.items, defined) };
    case 'map':
      return { type: 'map', values: canonical(node.values, defined) };
    case 'record':
      return record(node, defined);
  }
}

function record(node: RecordNode, defined: Set<string>): unknown {
  if (defined.has(node.fullName)) return node.fullName;
  defined.add(node.fullName);
  const field = ({ name, node: type, default: value }: FieldNode) => ({
    name,
    type: canonical(type, defined),
    ...(value === undefined ? {} : { default: value }),
  });
  return { type: 'record', name: node.fullName, fields: node.fields.map(field) };
}

function scalar(node: ScalarNode): unknown {
  const { avro, logical } = node;
  if (logical === null) return avro;
  if (logical.name !== 'decimal') return { type: avro, logicalType: logical.name };
  return { type: avro, logicalType: logical.name, precision: logical.precision, scale: logical.scale };
}
