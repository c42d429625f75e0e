// Values that no field holds, or not as they were sent: JSON pointers with minified JSON text, for the field `extras` of
// the nearest record that has one. Nearly all are minified as they were sent: of those only the place in the input is noted.
// Also the path to where the writer is, since failures need a pointer to it too.

import { pointerStep } from '../json/json-text.ts';
import { isMinified, minified } from '../json/minified-json.ts';
import { capitalise, type RecordPlan, type ValuePlan } from './plan.ts';
import { type RowReader, UNKNOWN_NOTE } from './row-reader.ts';

const SMALL_N = 0x6e;
/** More than these are sorted by the library, which keeps their time within bounds. */
const FEW = 16;
/** What a huge row found is not kept to be used again. */
const MOST_KEPT = 1_000;
/** UTF-8 takes no more bytes for one of JavaScript's characters. */
const MOST_BYTES_OF_CHARACTER = 3;
/** The most bytes that the lengths of an extra, and the counts around all of them, take. */
const LENGTHS = 20;

export class Extra {
  pointer = '';
  /** Null: the bytes of the input from `start` to `end`. */
  text: string | null = null;
  start = 0;
  end = 0;

  /** The most bytes that it takes with its lengths. */
  get mostBytes(): number {
    const text = this.text === null ? this.end - this.start : MOST_BYTES_OF_CHARACTER * this.text.length;
    return LENGTHS + MOST_BYTES_OF_CHARACTER * this.pointer.length + text;
  }
}

export class Extras {
  /** The steps to where the writer is, positions in lists as numbers; those from its depth on are left over. */
  readonly path: (string | number)[] = [];
  /** Fields of the row that the schema does not know, or not with this type, but kept here. */
  driftFields = 0;
  /** Numbers and instants that were rounded in their field, and kept here as they were sent. */
  roundedNumbers = 0;
  /** How many steps lead to the record that takes what is found. */
  base = 0;
  /** How many were found and not yet written. */
  count = 0;
  readonly #reader: RowReader;
  // They are used again: those from `count` on are left over.
  readonly #found: Extra[] = [];
  // Found by a field that gave way: it stays when the record is written once more.
  readonly #lasting: Extra[] = [];

  constructor(reader: RowReader) {
    this.#reader = reader;
  }

  /** Another row. */
  clear(): void {
    if (this.#found.length > MOST_KEPT) this.#found.length = MOST_KEPT;
    if (this.#lasting.length > 0) this.#lasting.length = 0;
    this.restart();
  }

  /** The same row once more. */
  restart(): void {
    this.count = 0;
    this.base = 0;
    this.driftFields = this.#lasting.length;
    this.roundedNumbers = 0;
    for (const extra of this.#lasting) Object.assign(this.#next(), extra);
  }

  /** Keeps the value from `start` to `end`; `depth` is its last step. */
  keep(depth: number, start: number, end: number): void {
    const { json } = this.#reader;
    const extra = this.keepAsSent(depth, start, end);
    extra.text = isMinified(json, start, end) ? null : minified(json, start, end);
  }

  /** The same for a number, and for a string without escapes. */
  keepAsSent(depth: number, start: number, end: number): Extra {
    const extra = this.#next();
    extra.pointer = this.#pointer(this.base, depth);
    extra.text = null;
    extra.start = start;
    extra.end = end;
    return extra;
  }

  /** Keeps it also when the row is written once more. */
  keepLasting(depth: number, start: number, end: number): void {
    this.keep(depth, start, end);
    this.#lasting.push(Object.assign(new Extra(), this.at(this.count - 1)));
  }

  /** Keeps the members of an object that the schema does not know, unless they are null. */
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

  /** The unknown members of an object around records, as each of them keeps them. */
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

  /** Forgets all but so many. */
  truncate(count: number): void {
    this.count = count;
  }

  /** Sorts those from a position on by their pointers; gives the most bytes that they take. */
  sort(from: number): number {
    const found = this.#found;
    if (this.count - from > FEW) {
      const sorted = found
        .slice(from, this.count)
        .sort((a, b) => (a.pointer < b.pointer ? -1 : a.pointer > b.pointer ? 1 : 0));
      for (const [k, extra] of sorted.entries()) found[from + k] = extra;
    } else {
      for (let k = from + 1; k < this.count; k++) {
        const extra = found[k] as Extra;
        let at = k;
        for (; at > from && isBehind((found[at - 1] as Extra).pointer, extra.pointer); at--) {
          found[at] = found[at - 1] as Extra;
        }
        found[at] = extra;
      }
    }
    this.#dropDoubles(from);
    let bytes = LENGTHS;
    for (let k = from; k < this.count; k++) bytes += (found[k] as Extra).mostBytes;
    return bytes;
  }

  // Two names of which one is no valid text can have one pointer. The last one counts, which was found first.
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

  /** The whole way to where the writer is. */
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

/** As `a > b`; for short texts that differ near their beginning, a loop costs less than a call. */
function isBehind(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length);
  for (let k = 0; k < length; k++) {
    const difference = a.charCodeAt(k) - b.charCodeAt(k);
    if (difference !== 0) return difference > 0;
  }
  return a.length > b.length;
}

const PLAIN_NAME = /^[\w$]*$/;
