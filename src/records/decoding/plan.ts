import type { FieldNode, RecordNode, ScalarNode, SchemaNode } from '../avro/schema.ts';
import { pointerStep } from '../json/json-value.ts';

// A tree of plans, made once from the Avro schema, says how each value is converted. The reader needs the keys of an
// object, and each value's position on the tape of `row-reader.ts`. The writer needs the fields in Avro's order and
// each field's source. Most fields come from the member of the same name; `FieldRole` lists the other sources.

export const KIND = {
  STRING: 0,
  DECIMAL: 1,
  LONG: 2,
  DATE: 3,
  LOCAL_TIME: 4,
  BOOLEAN: 5,
  INSTANT: 6,
  TEXT: 7,
  RECORD: 8,
  LIST: 9,
  FIRST_OF: 10,
  TAKEN: 11,
  GIVEN: 12,
  EXTRAS: 13,
} as const;

export const DERIVED = KIND.FIRST_OF;

/** Flags added to a kind. NULLABLE: the JSON value may be null. WRITTEN_NULLABLE: Avro's type is a union with null. */
export const NULLABLE = 16;
export const WRITTEN_NULLABLE = 32;

/** The number of integers in a frame before its notes (`row-reader.ts` explains frames and notes). */
export const NOTES = 2;

/** The form of all decimals; the tables of powers in `number-writer.ts` depend on these two values. */
export const PRECISION = 38;
export const SCALE = 18;

export interface ValuePlan {
  readonly kind: number;
  readonly nullable: boolean;
  /** The name in the schema; empty for elements of a list. */
  readonly name: string;
  /** The value's step in a JSON pointer; empty for elements of a list, whose step is their position. */
  readonly step: string;
  readonly expected: string;
  readonly record: RecordPlan | null;
  readonly item: ValuePlan | null;
}

export interface DerivedPlan {
  readonly nullable: boolean;
  readonly name: string;
  /** The slot (see `RecordPlan`) of the member whose object contains the value; -1 if the record itself contains it. */
  readonly within: number;
  /** The slot of the value in that object; -1 if no single member holds the value. */
  readonly slot: number;
  readonly plan: ValuePlan | null;
  /** Set if the value is in an element of a list in that object: the list, and the `type` of this element. Otherwise null. */
  readonly firstOf: FirstOf | null;
}

export interface FirstOf {
  readonly list: number;
  readonly type: string;
  readonly typeSlot: number;
  readonly valueSlot: number;
}

export interface RecordPlan {
  /** The members. A member's slot is its number k: the note of members[k] lies at frame + NOTES + 2 * k. */
  readonly members: readonly ValuePlan[];
  readonly frameSize: number;
  readonly keys: ReadonlyMap<string, Key>;
  /** A placeholder before the first key; its `next` is the guess for the first key. */
  readonly start: Key;
  /** The kind of each field in Avro's order. sources[k] is a slot of `members` or an index of `derived`. */
  readonly kinds: Uint8Array;
  readonly sources: Uint8Array;
  readonly derived: readonly DerivedPlan[];
  readonly envelopes: readonly number[];
  readonly origins: readonly number[];
  /** True if the record has a field for unknown members; this field takes unknown members at any depth. */
  readonly isWhole: boolean;
}

/** One spelling of a member's name, followed by a quote and a colon, as integers of four bytes. */
export class Key {
  readonly words: Int32Array;
  readonly mask: number;
  readonly length: number;
  readonly slot: number;
  readonly plan: ValuePlan;
  readonly capitalised: boolean;
  /** The key that last followed this key; it is the first guess for the next key. */
  next: Key;

  constructor(spelling: string, slot: number, plan: ValuePlan, capitalised: boolean) {
    const bytes = Buffer.from(`${spelling}":`);
    const padded = Buffer.concat([bytes, Buffer.alloc(4 - (bytes.length % 4))]);
    this.words = Int32Array.from({ length: padded.length / 4 }, (_, at) => padded.readInt32LE(4 * at));
    this.mask = (1 << (8 * (bytes.length % 4))) - 1;
    this.length = bytes.length;
    this.slot = slot;
    this.plan = plan;
    this.capitalised = capitalised;
    this.next = this;
  }
}

export const IGNORED: ValuePlan = {
  kind: KIND.TEXT,
  nullable: true,
  name: '',
  step: '',
  expected: 'anything',
  record: null,
  item: null,
};

export function slotOf({ record }: ValuePlan, name: string): number {
  const slot = record?.members.findIndex((one) => one.name === name) ?? -1;
  if (slot < 0) throw new Error(`The plan has no member ${name}.`);
  return slot;
}

export function memberPlan(plan: ValuePlan, name: string): ValuePlan {
  return plan.record?.members[slotOf(plan, name)] as ValuePlan;
}

export function capitalise(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** @throws Error if the record has no field for unknown members, which must not be lost */
export function compilePlan(schema: RecordNode): ValuePlan {
  const record = compileRecord(schema);
  if (!record.isWhole) throw new Error(`The schema ${schema.fullName} has no field for unknown members.`);
  return recordPlan('', record, false);
}

export function objectPlan(name: string, members: readonly ValuePlan[]): ValuePlan {
  return recordPlan(name, bareRecord(members, null, false), true);
}

export function seriesPlan(name: string, list: string, item: ValuePlan): ValuePlan {
  return recordPlan(name, bareRecord([listPlan(list, item), anyPlan('$type')], '$type'), true);
}

export function withoutLastFields(plan: ValuePlan, count: number): ValuePlan {
  if (plan.record === null) throw new Error('Only a record has fields.');
  const { kinds, sources } = plan.record;
  return { ...plan, record: { ...plan.record, kinds: kinds.slice(0, -count), sources: sources.slice(0, -count) } };
}

function listPlan(name: string, item: ValuePlan): ValuePlan {
  return named({ ...IGNORED, kind: KIND.LIST, expected: 'an array', item }, name);
}

export function anyPlan(name: string): ValuePlan {
  return named(IGNORED, name);
}

export function named(plan: ValuePlan, name: string): ValuePlan {
  return { ...plan, name, step: name === '' ? '' : inOnePiece(pointerStep(name)) };
}

/** Returns the same text in one piece, because the engine reads a concatenated text more slowly. */
function inOnePiece(text: string): string {
  return Buffer.from(text).toString();
}

function recordPlan(name: string, record: RecordPlan, nullable: boolean): ValuePlan {
  return named({ ...IGNORED, kind: KIND.RECORD, nullable, expected: 'an object', record }, name);
}

function compileNode(node: SchemaNode, name: string, nullable = false): ValuePlan {
  switch (node.kind) {
    case 'nullable':
      return compileNode(node.inner, name, true);
    case 'array':
      return { ...listPlan(name, compileNode(node.items, '')), nullable };
    case 'record':
      return recordPlan(name, compileRecord(node), nullable);
    case 'scalar': {
      const kind = scalarKind(node);
      return named({ ...IGNORED, kind, nullable, expected: EXPECTED[kind] ?? '' }, name);
    }
    case 'map':
      throw new Error('Maps are for unknown members only.');
  }
}

const EXPECTED: Readonly<Record<number, string>> = {
  [KIND.STRING]: 'a string',
  [KIND.DECIMAL]: `a decimal of ${PRECISION} digits, ${SCALE} of them fraction digits`,
  [KIND.LONG]: 'a 64-bit integer',
  [KIND.DATE]: 'a date YYYY-MM-DD',
  [KIND.LOCAL_TIME]: 'a date-time YYYY-MM-DD HH:MM:SS',
  [KIND.BOOLEAN]: 'a boolean',
  [KIND.INSTANT]: 'a date-time of ISO 8601 with its zone',
};

function scalarKind({ avro, logical }: ScalarNode): number {
  if (logical?.name === 'decimal') {
    if (logical.precision === PRECISION && logical.scale === SCALE) return KIND.DECIMAL;
    throw new Error(`Expected decimals of the form (${PRECISION}, ${SCALE}).`);
  }
  if (logical?.name === 'date') return KIND.DATE;
  if (logical?.name === 'local-timestamp-millis') return KIND.LOCAL_TIME;
  if (logical?.name === 'timestamp-micros') return KIND.INSTANT;
  if (logical === null && avro === 'string') return KIND.STRING;
  if (logical === null && avro === 'boolean') return KIND.BOOLEAN;
  if (logical === null && avro === 'long') return KIND.LONG;
  throw new Error(`The schema type ${avro} ${logical?.name ?? ''} is not supported.`);
}

function compileRecord(node: RecordNode): RecordPlan {
  const { fields, discriminator } = node;
  const envelopes = envelopesOf(node);
  const members = [
    ...fields.flatMap((field) => memberOf(field, node)),
    ...envelopes,
    ...(discriminator === null ? [] : [anyPlan(discriminator)]),
  ];
  const slotOf = (name: string) => members.findIndex((member) => member.name === name);
  const derived = fields.flatMap((field) => derivedField(field, node, members));
  return {
    ...bareRecord(members, discriminator),
    kinds: Uint8Array.from(fields, (field) => fieldKind(field, members)),
    sources: Uint8Array.from(fields, ({ name, role }) =>
      role.kind === 'member' ? slotOf(name) : derived.findIndex((one) => one.name === name),
    ),
    derived,
    envelopes: envelopes.map(({ name }) => slotOf(name)),
    origins: fields.flatMap(({ role }) => (role.kind === 'takenFrom' ? [slotOf(role.within)] : [])),
    isWhole: fields.some(({ role }) => role.kind === 'unknownFields'),
  };
}

function bareRecord(members: readonly ValuePlan[], discriminator: string | null, bothSpellings = true): RecordPlan {
  const keys = new Map<string, Key>();
  for (const capitalised of bothSpellings ? [true, false] : [false]) {
    for (const [slot, plan] of members.entries()) {
      if (capitalised && plan.name === discriminator) continue;
      const spelling = capitalised ? capitalise(plan.name) : plan.name;
      keys.set(spelling, new Key(spelling, slot, plan, capitalised));
    }
  }
  const all = [...keys.values()];
  for (const [at, key] of all.entries()) key.next = all[at + 1] ?? key;
  const start = new Key('', -1, IGNORED, false);
  start.next = keys.get(members[0]?.name ?? '') ?? start;
  return {
    members,
    frameSize: NOTES + 2 * members.length,
    keys,
    start,
    kinds: new Uint8Array(0),
    sources: new Uint8Array(0),
    derived: [],
    envelopes: [],
    origins: [],
    isWhole: false,
  };
}

function fieldKind({ name, node, role }: FieldNode, members: readonly ValuePlan[]): number {
  switch (role.kind) {
    case 'member': {
      const plan = members.find((member) => member.name === name);
      if (plan === undefined) throw new Error(`The field ${name} has no member.`);
      return plan.kind | (plan.nullable ? NULLABLE : 0) | (node.kind === 'nullable' ? WRITTEN_NULLABLE : 0);
    }
    case 'firstOf':
      return KIND.FIRST_OF;
    case 'takenFrom':
      return KIND.TAKEN;
    case 'given':
      return KIND.GIVEN;
    case 'unknownFields':
      return KIND.EXTRAS;
  }
}

function derivedField(field: FieldNode, { fields }: RecordNode, members: readonly ValuePlan[]): DerivedPlan[] {
  const { name, role } = field;
  const base = { name, nullable: field.node.kind === 'nullable', within: -1, slot: -1, plan: null, firstOf: null };
  switch (role.kind) {
    case 'member':
      return [];
    case 'firstOf':
      return [{ ...base, firstOf: firstOf(members, role) }];
    case 'takenFrom': {
      const within = members.findIndex((member) => member.name === role.within);
      const inner = members[within]?.record;
      const slot = inner?.members.findIndex((member) => member.name === role.member) ?? -1;
      const derived = inner?.derived.find((one) => one.name === role.member);
      const isThere = slot >= 0 || (derived?.firstOf ?? null) !== null;
      if (!isThere) throw new Error(`The field ${name} is taken from an unknown member.`);
      return [{ ...base, within, slot, plan: inner?.members[slot] ?? null, firstOf: derived?.firstOf ?? null }];
    }
    case 'given':
      return [base];
    case 'unknownFields': {
      const later = fields.slice(fields.indexOf(field) + 1);
      const isOwn = ({ role: { kind }, name: other }: FieldNode) =>
        kind === 'given' || members.find((member) => member.name === other)?.record?.isWhole === true;
      // This field is written before later fields, so a later field must not add values to it.
      if (!later.every(isOwn)) throw new Error(`The field ${name} must follow the fields that fill it.`);
      return [base];
    }
  }
}

function firstOf(
  members: readonly ValuePlan[],
  { list, type }: { readonly list: string; readonly type: string },
): FirstOf {
  const at = members.findIndex((member) => member.name === list);
  const elements = members[at]?.item?.record?.members ?? [];
  const slotOf = (name: string) => elements.findIndex((member) => member.name === name);
  if (slotOf('type') < 0 || slotOf('value') < 0) throw new Error(`The list ${list} has no types and values.`);
  return { list: at, type, typeSlot: slotOf('type'), valueSlot: slotOf('value') };
}

function memberOf({ name, node, role }: FieldNode, { fields }: RecordNode): ValuePlan[] {
  if (role.kind !== 'member') return [];
  // If a field that is never null is taken from a member, this member must be present, even if its type allows null.
  const isMust = fields.some(
    (other) => other.role.kind === 'takenFrom' && other.role.within === name && other.node.kind !== 'nullable',
  );
  return [compileNode(isMust && node.kind === 'nullable' ? node.inner : node, name)];
}

function envelopesOf({ fields }: RecordNode): ValuePlan[] {
  const envelopes = new Map<string, ValuePlan[]>();
  for (const { node, role } of fields) {
    if (role.kind !== 'takenFrom' || fields.some(({ name }) => name === role.within)) continue;
    const member = role.jsonText ? anyPlan(role.member) : compileNode(node, role.member);
    envelopes.set(role.within, [...(envelopes.get(role.within) ?? []), member]);
  }
  return [...envelopes].map(([name, members]) => recordPlan(name, bareRecord(members, null), true));
}
