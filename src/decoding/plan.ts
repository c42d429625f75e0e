// How each value is converted: a tree of plans, compiled once from the Avro schema (`compile-plan.ts`).
//
// Reading needs from it which keys an object may have and where on the tape the value of each is noted; writing needs the
// fields in Avro's order and where each takes its value from. Most fields take it from the member of the same name. The
// others are those that `FieldRole` in `avro/schema.ts` lists: an instrument's isin comes out of its identifiers, the id
// of an event out of its instrument, and what has no field goes to `extras`.

/** The kind of a value: leaves first, then records and lists, then values from elsewhere in the record. */
export const KIND = {
  STRING: 0,
  DECIMAL: 1,
  LONG: 2,
  DATE: 3,
  LOCAL_TIME: 4,
  BOOLEAN: 5,
  INSTANT: 6,
  /** Any value, kept as JSON text. */
  TEXT: 7,
  RECORD: 8,
  LIST: 9,
  FIRST_OF: 10,
  TAKEN: 11,
  GIVEN: 12,
  EXTRAS: 13,
} as const;
/** The first of the kinds that have no value of their own on the tape. */
export const DERIVED = KIND.FIRST_OF;
/** Set beside the kind of a field: its value may be null; it is written as a union with null. */
export const NULLABLE = 16;
export const WRITTEN_NULLABLE = 32;
/** How many integers a frame has before its notes. */
export const NOTES = 2;

/** All decimals have this form: the tables of powers in `decimal-writer.ts` are made for it. */
export const PRECISION = 38;
export const SCALE = 18;

/** The plan of one value. */
export interface ValuePlan {
  readonly kind: number;
  readonly nullable: boolean;
  /** The name in the schema; empty for elements of a list. */
  readonly name: string;
  /** The step of a JSON pointer to it; of an element of a list, its position takes this place. */
  readonly step: string;
  /** What is expected there, for the reason of a failure. */
  readonly expected: string;
  /** Of a record. */
  readonly record: RecordPlan | null;
  /** Of the elements of a list. */
  readonly item: ValuePlan | null;
}

/** A field that takes its value from elsewhere in its record. */
export interface DerivedPlan {
  readonly nullable: boolean;
  readonly name: string;
  /** The member whose object it is taken out of; -1 where it is the record itself. */
  readonly within: number;
  /** The member there, where its value is taken as it is. */
  readonly slot: number;
  readonly plan: ValuePlan | null;
  /** Otherwise the value of the first element of a list there that has a type. */
  readonly firstOf: FirstOf | null;
}

export interface FirstOf {
  readonly list: number;
  readonly type: string;
  /** Slots in the elements. */
  readonly typeSlot: number;
  readonly valueSlot: number;
}

export interface RecordPlan {
  /** By their slot: the note of the value of members[k] lies at frame + NOTES + 2 * k. */
  readonly members: readonly ValuePlan[];
  readonly frameSize: number;
  /** Every spelling of every member. */
  readonly keys: ReadonlyMap<string, Key>;
  /** Stands in front of the first key: its `next` is the guess for it. */
  readonly start: Key;
  /** In Avro's order: kinds[k] and, by k, the slot of a member or the place of a derived field. */
  readonly kinds: Uint8Array;
  readonly sources: Uint8Array;
  readonly derived: readonly DerivedPlan[];
  /** Members that are objects around fields of the record, and no fields. */
  readonly envelopes: readonly number[];
  /** Members whose value other fields are taken out of. */
  readonly origins: readonly number[];
  /** Whether unknown members within it, at any depth, are its own. */
  readonly isWhole: boolean;
}

/** One spelling of a member's name, to be compared with the input as words of four bytes: the name, its quote, a colon. */
export class Key {
  readonly words: Int32Array;
  /** The bytes that count in the last word. */
  readonly mask: number;
  readonly length: number;
  readonly slot: number;
  readonly plan: ValuePlan;
  readonly capitalised: boolean;
  /** The key that followed this one last time, and so the first guess. */
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

/** Of what the schema does not know. */
export const IGNORED: ValuePlan = {
  kind: KIND.TEXT,
  nullable: true,
  name: '',
  step: '',
  expected: 'anything',
  record: null,
  item: null,
};

/** Where the note of a member of an object is: its position among the members. */
export function slotOf({ record }: ValuePlan, name: string): number {
  const slot = record?.members.findIndex((one) => one.name === name) ?? -1;
  if (slot < 0) throw new Error(`The plan has no member ${name}.`);
  return slot;
}

/** The plan of a member of an object. */
export function memberPlan(plan: ValuePlan, name: string): ValuePlan {
  return plan.record?.members[slotOf(plan, name)] as ValuePlan;
}

/** The other spelling of a name. */
export function capitalise(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
