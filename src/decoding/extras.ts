// Values that no field holds, or not as they were sent: JSON pointers with minified JSON text, for the field `extras` of
// the nearest record that has one. Also the path to where the writer is, since failures need a pointer to it too.
import { pointerStep } from '../json/json-text.ts';
import { minified } from '../json/minified-json.ts';
import { capitalise, type RecordPlan, type ValuePlan } from './plan.ts';
import { type RowReader, UNKNOWN_NOTE } from './row-reader.ts';

const SMALL_N = 0x6e;

export type Extra = readonly [pointer: string, text: string];

export class Extras {
  /** The steps to where the writer is; those from its depth on are left over. */
  readonly path: (string | number)[] = [];
  /** Fields of the row that the schema does not know, or not with this type, but kept here. */
  driftFields = 0;
  /** Numbers and instants that were rounded in their field, and kept here as they were sent. */
  roundedNumbers = 0;
  /** How many steps lead to the record that takes what is found. */
  base = 0;
  readonly #reader: RowReader;
  readonly #found: Extra[] = [];
  // Found by a field that gave way: it stays when the record is written once more.
  readonly #lasting: Extra[] = [];

  constructor(reader: RowReader) {
    this.#reader = reader;
  }

  get count(): number {
    return this.#found.length;
  }

  /** Another row. */
  clear(): void {
    if (this.#lasting.length > 0) this.#lasting.length = 0;
    this.restart();
  }

  /** The same row once more. */
  restart(): void {
    this.#found.length = 0;
    this.base = 0;
    this.driftFields = this.#lasting.length;
    this.roundedNumbers = 0;
    for (const extra of this.#lasting) this.#found.push(extra);
  }

  /** Keeps the value from `start` to `end`; `depth` is its last step. */
  keep(depth: number, start: number, end: number): void {
    this.#found.push([this.#pointer(this.base, depth), minified(this.#reader.json, start, end)]);
  }

  keepLasting(depth: number, start: number, end: number): void {
    this.#lasting.push([this.#pointer(this.base, depth), minified(this.#reader.json, start, end)]);
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
      this.path[depth] = plan === null ? json.text(keyStart, tape[at + 2] as number) : capitalise(plan.name);
      this.keep(depth, start, this.#reader.endOf(plan, note));
      this.driftFields += 1;
    }
  }

  /** The unknown members of an object around records, as each of them keeps them. */
  unknownBeside({ record }: ValuePlan, note: number): readonly Extra[] {
    this.clear();
    if (record === null) return [];
    this.path[0] = '..';
    this.keepUnknown(record, this.#reader.tape[note + 1] as number, 1);
    return this.takeSorted(0);
  }

  add(pointer: string, text: string): void {
    this.#found.push([pointer, text]);
  }

  /** Forgets all but so many. */
  truncate(count: number): void {
    this.#found.length = count;
  }

  /** Takes all but so many, sorted by their pointers. */
  takeSorted(from: number): readonly Extra[] {
    const taken = this.#found.splice(from);
    if (taken.length === 1) return taken;
    taken.sort(([a], [b]) => (a < b ? -1 : 1));
    const isTwice = taken.some(([pointer], at) => at > 0 && taken[at - 1]?.[0] === pointer);
    // Two names that are no valid text can have one pointer.
    return isTwice ? [...new Map(taken)] : taken;
  }

  /** The whole way to where the writer is. */
  pointer(depth: number): string {
    return this.#pointer(0, depth);
  }

  #pointer(from: number, depth: number): string {
    let pointer = '';
    for (let at = from; at <= depth; at++) pointer += stepOf(this.path[at] as string | number);
    return pointer;
  }
}

const PLAIN_NAME = /^[\w$]*$/;

function stepOf(step: string | number): string {
  return typeof step === 'number' || PLAIN_NAME.test(step) ? `/${step}` : pointerStep(step);
}
