// An extra keeps a sent value that has no field, or that differs from the value of its field. An extra is a JSON
// pointer and minified JSON, in the field `extras` of the nearest record. If a value was sent minified, its extra keeps
// only the value's position in the input. `Extras` also keeps the path to the current value, for the pointers of dead letters.

import { type AssumedZone, parseInstant } from '../avro/instant.ts';
import { BYTES } from '../json/json-bytes.ts';
import { pointerStep } from '../json/json-value.ts';
import { isMinified, minified } from '../json/minified-json.ts';
import type { Flaw } from './decoded-list.ts';
import { capitalise, KIND, NOTES, PRECISION, type RecordPlan, SCALE, type ValuePlan } from './plan.ts';
import { type RowReader, UNKNOWN_NOTE } from './row-reader.ts';

const { QUOTE, OPEN_BRACE, OPEN_BRACKET } = BYTES;
const PLAIN_INTEGER = /^-?\d{1,19}$/;
const LONGEST_INTEGER = 20;

const FAILED = -1;
const SMALL_N = 0x6e;

const MOST_KEPT = 1_000;

const MOST_BYTES_OF_CHARACTER = 3;

/** The maximum bytes of an extra's two lengths. The number and the end of all extras also take at most these bytes. */
const LENGTHS = 20;

export class Extra {
  pointer = '';
  text: string | null = null;
  start = 0;
  end = 0;

  get mostBytes(): number {
    const text = this.text === null ? this.end - this.start : MOST_BYTES_OF_CHARACTER * this.text.length;
    return LENGTHS + MOST_BYTES_OF_CHARACTER * this.pointer.length + text;
  }
}

export class Extras {
  /**
   * The steps from the row to the value that is being written; list positions are numbers. Deeper steps are outdated.
   */
  readonly path: (string | number)[] = [];
  driftFields = 0;
  roundedNumbers = 0;
  /** The number of steps in `path` to the record that takes the extras. */
  base = 0;
  count = 0;
  readonly #reader: RowReader;
  // The objects are reused; objects with index `count` or higher are outdated.
  readonly #found: Extra[] = [];
  readonly #lasting: Extra[] = [];

  constructor(reader: RowReader) {
    this.#reader = reader;
  }

  clear(): void {
    if (this.#found.length > MOST_KEPT) this.#found.length = MOST_KEPT;
    if (this.#lasting.length > 0) this.#lasting.length = 0;
    this.restart();
  }

  restart(): void {
    this.count = 0;
    this.base = 0;
    this.driftFields = this.#lasting.length;
    this.roundedNumbers = 0;
    for (const extra of this.#lasting) Object.assign(this.#next(), extra);
  }

  keep(depth: number, start: number, end: number): void {
    const { json } = this.#reader;
    const extra = this.keepAsSent(depth, start, end);
    extra.text = isMinified(json, start, end) ? null : minified(json, start, end);
  }

  keepAsSent(depth: number, start: number, end: number): Extra {
    const extra = this.#next();
    extra.pointer = this.#pointer(this.base, depth);
    extra.text = null;
    extra.start = start;
    extra.end = end;
    return extra;
  }

  keepLasting(depth: number, start: number, end: number): void {
    this.keep(depth, start, end);
    this.#lasting.push(Object.assign(new Extra(), this.at(this.count - 1)));
  }

  /** Keeps each member of an object if the schema does not know the member and its value is not null. */
  keepUnknown({ members }: RecordPlan, frame: number, depth: number): void {
    const { json, tape } = this.#reader;
    for (let at = tape[frame + 1] as number; at !== 0; at = tape[at] as number) {
      const note = at + UNKNOWN_NOTE;
      const start = Math.abs(tape[note] as number);
      if (json.bytes[start] === SMALL_N) continue;
      const keyStart = tape[at + 1] as number;
      const plan = keyStart < 0 ? (members[-1 - keyStart] as ValuePlan) : null;
      const key = plan === null ? json.text(keyStart, tape[at + 2] as number) : capitalise(plan.name);
      this.path[depth] = PLAIN_NAME.test(key) ? `/${key}` : pointerStep(key);
      this.keep(depth, start, this.#reader.endOf(plan, note));
      this.driftFields += 1;
    }
  }

  unknownBeside({ record }: ValuePlan, note: number): readonly Extra[] {
    this.clear();
    if (record === null) return [];
    this.path[0] = '/..';
    this.keepUnknown(record, this.#reader.tape[note + 1] as number, 1);
    this.sort(0);
    return this.#found.slice(0, this.count).map((extra) => Object.assign(new Extra(), extra));
  }

  add(extra: Extra): void {
    Object.assign(this.#next(), extra);
  }

  at(position: number): Extra {
    return this.#found[position] as Extra;
  }

  truncate(count: number): void {
    this.count = count;
  }

  /** Sorts the extras with index `from` or higher by pointer. Returns the maximum bytes that these extras take. */
  sort(from: number): number {
    const found = this.#found;
    if (this.count - from > 1) {
      const sorted = found.slice(from, this.count).sort(byPointer);
      for (const [k, extra] of sorted.entries()) found[from + k] = extra;
    }
    this.#dropDoubles(from);
    let bytes = LENGTHS;
    for (let k = from; k < this.count; k++) bytes += (found[k] as Extra).mostBytes;
    return bytes;
  }

  // Two names can give the same pointer. Only the first of these extras is kept: its value was sent last.
  #dropDoubles(from: number): void {
    const found = this.#found;
    let kept = from;
    for (let k = from; k < this.count; k++) {
      const extra = found[k] as Extra;
      if (kept > from && (found[kept - 1] as Extra).pointer === extra.pointer) continue;
      found[k] = found[kept] as Extra;
      found[kept] = extra;
      kept += 1;
    }
    this.count = kept;
  }

  pointer(depth: number): string {
    return this.#pointer(0, depth);
  }

  #next(): Extra {
    if (this.count === this.#found.length) this.#found.push(new Extra());
    const extra = this.#found[this.count] as Extra;
    this.count += 1;
    return extra;
  }

  #pointer(from: number, depth: number): string {
    let pointer = '';
    for (let at = from; at <= depth; at++) {
      const step = this.path[at] as string | number;
      if (typeof step === 'number') pointer += `/${step}`;
      else pointer = pointer === '' ? step : pointer + step;
    }
    return pointer;
  }
}

function byPointer(a: Extra, b: Extra): number {
  return a.pointer < b.pointer ? -1 : Number(a.pointer > b.pointer);
}

const PLAIN_NAME = /^[\w$]*$/;

// After a wrong type, the nearest nullable field becomes null, or the record becomes a failure. Reasons quote no value.

export class Mismatches implements Flaw {
  pointer = '';
  reason = '';
  readonly tooLarge = false;
  /** True if the record must be written again: extras did not fit, or a field used a member that is now null. */
  again = false;
  readonly #reader: RowReader;
  readonly #extras: Extras;
  readonly #keepMismatches: boolean;
  readonly #zone: AssumedZone | null;

  constructor(reader: RowReader, extras: Extras, keepMismatches: boolean, zone: AssumedZone | null) {
    this.#reader = reader;
    this.#extras = extras;
    this.#keepMismatches = keepMismatches;
    this.#zone = zone;
  }

  checkEnvelopes(record: RecordPlan, frame: number, depth: number): boolean {
    const { json, tape } = this.#reader;
    for (const slot of record.envelopes) {
      const note = frame + NOTES + 2 * slot;
      const c = json.bytes[Math.abs(tape[note] as number)];
      if (c === OPEN_BRACE || c === SMALL_N) continue;
      if (!this.giveWay(record, slot, note, depth)) return false;
      tape[note] = 0;
    }
    return true;
  }

  giveWay(record: RecordPlan, slot: number, note: number, depth: number): boolean {
    if (this.again) return false;
    const plan = record.members[slot] as ValuePlan;
    if (!this.#keepMismatches || !plan.nullable) {
      // In an object or list as expected, a value inside is wrong. `pointer` and `reason` already describe this value.
      if (!this.#isContainer(plan, note)) this.member(record, slot, note, depth);
      return false;
    }
    const start = Math.abs(this.#reader.tape[note] as number);
    const end = this.#reader.endOf(plan, note);
    this.#extras.path[depth] = plan.step;
    if (!record.origins.includes(slot)) {
      this.#extras.driftFields += 1;
      this.#extras.keep(depth, start, end);
      return true;
    }
    this.#extras.keepLasting(depth, start, end);
    this.#reader.tape[note] = 0;
    this.again = true;
    return false;
  }

  member(record: RecordPlan, slot: number, note: number, depth: number): number {
    const plan = record.members[slot] as ValuePlan;
    this.#extras.path[depth] = plan.step;
    return this.value(plan, note, depth);
  }

  value(plan: ValuePlan, note: number, depth: number): number {
    this.pointer = this.#extras.pointer(depth);
    this.reason = mismatchReason(this.#reader, plan, note, this.#zone);
    return FAILED;
  }

  #isContainer({ kind }: ValuePlan, note: number): boolean {
    const c = this.#reader.json.bytes[Math.abs(this.#reader.tape[note] as number)];
    return (kind === KIND.RECORD && c === OPEN_BRACE) || (kind === KIND.LIST && c === OPEN_BRACKET);
  }
}

function mismatchReason(reader: RowReader, plan: ValuePlan, note: number, zone: AssumedZone | null): string {
  return `found ${describeNote(reader, plan, note, zone)}, expected ${plan.expected}`;
}

function describeNote(reader: RowReader, { kind }: ValuePlan, note: number, zone: AssumedZone | null): string {
  const { tape } = reader;
  const { bytes } = reader.json;
  const start = Math.abs(tape[note] as number);
  const end = tape[note + 1] as number;
  const what = describeValue(bytes[start] as number);
  if (what === 'a number' && kind === KIND.DECIMAL)
    return `a number with more than ${PRECISION - SCALE} integer digits`;
  if (what === 'a number' && kind === KIND.LONG) {
    const isPlain = PLAIN_INTEGER.test(bytes.toString('latin1', start, Math.min(end, start + LONGEST_INTEGER + 1)));
    return isPlain ? 'an integer out of range' : 'a number that is not a plain integer';
  }
  if (what !== 'a string' || kind > KIND.INSTANT) return what;
  if (kind === KIND.DATE || kind === KIND.LOCAL_TIME) return 'a string of another form';
  if (kind !== KIND.INSTANT) return what;
  const isZoneMissing = parseInstant(reader.json.text(start, end), zone) === 'noZone';
  return isZoneMissing ? 'a date-time without a zone (marketData.assumedZone is not set)' : 'a string of another form';
}

function describeValue(first: number): string {
  switch (first) {
    case QUOTE:
      return 'a string';
    case OPEN_BRACE:
      return 'an object';
    case OPEN_BRACKET:
      return 'an array';
    case 0x6e:
      return 'null';
    case 0x74:
    case 0x66:
      return 'a boolean';
    default:
      return 'a number';
  }
}
