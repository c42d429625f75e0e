// The plain way from JSON to Avro, by objects: the oracle of the tests of `src/records/decoding`.

import { encodeDecimal } from '../../src/records/avro/decimal.ts';
import { type AssumedZone, epochDays, localEpochMs, parseInstant } from '../../src/records/avro/instant.ts';
import type { AvroRecord, AvroValue, ScalarValue } from '../../src/records/avro/record-encoder.ts';
import type { FieldNode, RecordNode, ScalarNode, SchemaNode } from '../../src/records/avro/schema.ts';
import type { OnMismatch } from '../../src/records/decoding/decoded-list.ts';
import type { JsonObject, JsonValue } from '../../src/records/json/json-value.ts';
import { describeJson, isArray, JsonNumber, pointerStep, toJsonText } from '../../src/records/json/json-value.ts';

/** A value of another type than its field. */
export class Mismatch extends Error {
  readonly pointer: string;
  readonly reason: string;

  constructor(pointer: string, found: string, expected: string) {
    super(pointer);
    this.pointer = pointer;
    this.reason = `found ${found}, expected ${expected}`;
  }
}

export interface MappedRecord {
  readonly record: Record<string, AvroValue>;
  readonly driftFields: number;
  readonly roundedNumbers: number;
}

/** How the value of a field differs from the text that was sent; undefined: not at all. */
type Inexact = 'rounded' | 'mended' | 'fine' | undefined;

/** A value that no field holds as it was sent. */
interface Extra {
  readonly pointer: string;
  readonly text: string;
  readonly inexact: Inexact;
  /** A record has it among its extras. */
  isKept: boolean;
}

type Member = Pick<FieldNode, 'name' | 'node'>;

export class Mapping {
  readonly #schema: RecordNode;
  readonly #keepMismatches: boolean;
  readonly #zone: AssumedZone | null;
  readonly #members = new Map<RecordNode, readonly Member[]>();
  #extras: Extra[] = [];

  constructor(schema: RecordNode, onMismatch: OnMismatch, zone: AssumedZone | null = null) {
    this.#schema = schema;
    this.#keepMismatches = onMismatch === 'keepInExtras';
    this.#zone = zone;
  }

  /** @throws Mismatch */
  map(value: JsonValue): MappedRecord {
    this.#extras = [];
    const record = this.#record(this.#schema, value, '');
    const counted = (wanted: Inexact) => this.#extras.filter(({ inexact }) => inexact === wanted).length;
    return { record, driftFields: counted(undefined) + counted('mended'), roundedNumbers: counted('rounded') };
  }

  #value(node: SchemaNode, value: JsonValue, at: string): AvroValue {
    switch (node.kind) {
      case 'nullable':
        return value === null ? null : this.#nullable(node.inner, value, at);
      case 'array':
        if (!isArray(value)) throw new Mismatch(at, describeJson(value), 'an array');
        return value.map((element, index) => this.#value(node.items, element, `${at}/${index}`));
      case 'record':
        return this.#record(node, value, at);
      case 'scalar':
        return this.#scalar(node, value, at);
      case 'map':
        return toJsonText(value);
    }
  }

  #nullable(inner: SchemaNode, value: JsonValue, at: string): AvroValue {
    const found = this.#extras.length;
    try {
      return this.#value(inner, value, at);
    } catch (error) {
      if (!(error instanceof Mismatch) || !this.#keepMismatches) throw error;
      // The text holds all that was found within it.
      this.#extras.length = found;
      this.#keep(at, value);
      return null;
    }
  }

  #scalar(node: ScalarNode, value: JsonValue, at: string): ScalarValue {
    const mapped = mapScalar(node, value, this.#zone);
    if ('found' in mapped) throw new Mismatch(at, mapped.found, mapped.expected);
    if (mapped.inexact !== undefined) this.#keep(at, value, mapped.inexact);
    return mapped.value;
  }

  #record(node: RecordNode, value: JsonValue, at: string): Record<string, AvroValue> {
    if (!(value instanceof Map)) throw new Mismatch(at, describeJson(value), 'an object');
    const from = this.#extras.length;
    const members = this.#members.get(node) ?? membersOf(node);
    this.#members.set(node, members);
    const record: Record<string, AvroValue> = Object.fromEntries(node.fields.map(({ name }) => [name, null]));
    for (const member of members)
      record[member.name] = this.#value(member.node, memberOf(value, member.name), at + pointerStep(member.name));
    this.#keepUnknown(node, members, value, at);
    for (const { name, role } of node.fields) {
      if (role.kind === 'firstOf') record[name] = firstOf(record[role.list], role.type);
      if (role.kind === 'takenFrom') record[name] = (record[role.within] as AvroRecord | null)?.[role.member] ?? null;
    }
    const unknownFields = node.fields.find(({ role }) => role.kind === 'unknownFields');
    if (unknownFields !== undefined) record[unknownFields.name] = this.#takeExtras(from, at);
    return record;
  }

  #keepUnknown({ discriminator }: RecordNode, members: readonly Member[], value: JsonObject, at: string): void {
    const isKnown = (key: string) =>
      key === discriminator ||
      members.some(({ name }) => key === name || (key === capitalised(name) && (value.get(name) ?? null) === null));
    for (const [key, member] of value) if (member !== null && !isKnown(key)) this.#keep(at + pointerStep(key), member);
  }

  #keep(pointer: string, value: JsonValue, inexact?: Inexact): void {
    this.#extras.push({ pointer, text: toJsonText(value), inexact, isKept: false });
  }

  /** Those of a record, by pointers that begin at it; of two with one pointer the last one counts. */
  #takeExtras(from: number, at: string): AvroRecord | null {
    const own = this.#extras.slice(from).filter(({ isKept }) => !isKept);
    for (const extra of own) extra.isKept = true;
    return own.length === 0 ? null : sortedExtras(own.map(({ pointer, text }) => [pointer.slice(at.length), text]));
  }
}

export function sortedExtras(extras: readonly (readonly [pointer: string, text: string])[]): AvroRecord {
  return Object.fromEntries(extras.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));
}

/** The member of an object; null where it is missing. */
export function memberOf(value: JsonValue, name: string): JsonValue {
  return value instanceof Map ? (value.get(name) ?? value.get(capitalised(name)) ?? null) : null;
}

/** The members that are sent: the fields, and the objects around those that are taken out of one. */
export function membersOf({ fields }: RecordNode): readonly Member[] {
  const members: Member[] = [];
  const around = new Map<string, FieldNode[]>();
  for (const field of fields) {
    const { name, node, role } = field;
    if (role.kind === 'takenFrom' && !fields.some((other) => other.name === role.within)) {
      const inner: SchemaNode = role.jsonText ? { kind: 'nullable', inner: ANY } : node;
      const taken: FieldNode = { ...field, name: role.member, node: inner, role: { kind: 'member' } };
      around.set(role.within, [...(around.get(role.within) ?? []), taken]);
    }
    if (role.kind !== 'member') continue;
    // A member that a field without null is taken out of must be there.
    const isMust = fields.some(
      (other) => other.role.kind === 'takenFrom' && other.role.within === name && other.node.kind !== 'nullable',
    );
    members.push({ name, node: isMust && node.kind === 'nullable' ? node.inner : node });
  }
  for (const [name, inner] of around) {
    const record: RecordNode = { kind: 'record', fullName: name, doc: '', fields: inner, discriminator: null };
    members.push({ name, node: { kind: 'nullable', inner: record } });
  }
  return members;
}

/** Stands for a member of any type, which is kept as its text. */
const ANY: SchemaNode = { kind: 'map', values: { kind: 'scalar', avro: 'string', logical: null } };

function firstOf(list: AvroValue | undefined, type: string): AvroValue {
  const elements = (list ?? []) as readonly AvroRecord[];
  return elements.find((one) => one.value && String(one.type).toLowerCase() === type)?.value ?? null;
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

type Scalar =
  | { readonly value: ScalarValue; readonly inexact?: Inexact }
  | { readonly found: string; readonly expected: string };

function mapScalar({ avro, logical }: ScalarNode, value: JsonValue, zone: AssumedZone | null): Scalar {
  const kind = logical?.name ?? avro;
  const [type, expected] = FORMS[kind] ?? [];
  if (type === undefined || expected === undefined) throw new Error(`Nothing is sent as ${kind}.`);
  const mismatch = (found: string) => ({ found, expected });
  if (describeJson(value) !== type) return mismatch(describeJson(value));
  if (typeof value === 'boolean') return { value };
  if (value instanceof JsonNumber) {
    if (logical?.name === 'decimal') {
      const encoded = encodeDecimal(value.text, logical);
      if (encoded === null) return mismatch('a number with more than 20 integer digits');
      return { value: encoded.bytes, inexact: encoded.rounded ? 'rounded' : undefined };
    }
    if (!/^-?\d{1,19}$/.test(value.text)) return mismatch('a number that is not a plain integer');
    const integer = BigInt(value.text);
    return BigInt.asIntN(64, integer) === integer ? { value: integer } : mismatch('an integer out of range');
  }
  const text = String(value);
  if (kind === 'string') return { value: text.toWellFormed(), inexact: text.isWellFormed() ? undefined : 'mended' };
  if (kind === 'timestamp-micros') {
    const instant = parseInstant(text, zone);
    if (instant === 'noZone') return mismatch('a date-time without a zone (marketData.assumedZone is not set)');
    if (instant === null) return mismatch('a string of another form');
    return { value: instant.micros, inexact: instant.rounded ? 'fine' : undefined };
  }
  const moment = kind === 'date' ? epochDays(text) : localEpochMs(text);
  return moment === null ? mismatch('a string of another form') : { value: moment };
}

/** The JSON type of each leaf, and what a mismatch says of it. */
const FORMS: Readonly<Record<string, readonly [type: string, expected: string]>> = {
  boolean: ['a boolean', 'a boolean'],
  long: ['a number', 'a 64-bit integer'],
  decimal: ['a number', 'a decimal of 38 digits, 18 of them fraction digits'],
  string: ['a string', 'a string'],
  date: ['a string', 'a date YYYY-MM-DD'],
  'local-timestamp-millis': ['a string', 'a date-time YYYY-MM-DD HH:MM:SS'],
  'timestamp-micros': ['a string', 'a date-time of ISO 8601 with its zone'],
};
