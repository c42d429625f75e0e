// Reads one row and notes the position of each value; creates no strings and no objects.
//
// For an object that the schema knows, a *frame* on the tape replaces a JavaScript object. The tape is one array of integers:
//
//   note of a value      the value's start; the position of the value's frame, or the value's end if it has no frame
//   frame of an object   the object's end; its first unknown member, or 0; a note for each member of the plan
//   frame of a list      the list's end; the number of its elements; its first element
//   element of a list    the next element; a note
//   unknown member       the next unknown member; the start of this member's key; the end of the key; a note
//
// A start is negative if the key has a capital first letter, and 0 if there is no value: no value starts at 0. The end
// of a string with escapes is negative. A duplicate key overwrites the note, so the last value counts.
//
// The order of keys rarely changes. So the key that last followed a key is tried first, as words of four bytes.

import { BYTES } from '../json/json-bytes.ts';
import { DEEPEST_NESTING, hashBytes, JsonScanner } from '../json/json-scanner.ts';
import { readLong } from './number-writer.ts';
import { type DerivedPlan, type FirstOf, IGNORED, type Key, KIND, NOTES, slotOf, type ValuePlan } from './plan.ts';

const FIRST_TAPE = 1 << 12;

const LONGEST_KEPT_TAPE = 1 << 18;
const { QUOTE, COMMA, NINE, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE } = BYTES;
const SMALL_N = 0x6e;

export const ELEMENT_NOTE = 1;
export const UNKNOWN_NOTE = 3;

export class RowReader {
  readonly json: JsonScanner;
  tape = new Int32Array(FIRST_TAPE);
  #top = 0;

  constructor(bufferBytes: number) {
    this.json = new JsonScanner(bufferBytes);
  }

  get top(): number {
    return this.#top;
  }

  reset(bufferBytes: number): void {
    this.json.reset(bufferBytes);
    if (this.tape.length > LONGEST_KEPT_TAPE) this.tape = new Int32Array(FIRST_TAPE);
  }

  /** Reads one value inside `depth` objects and arrays; returns its end. The value's note is at tape[0]. */
  readRow(plan: ValuePlan, start: number, depth: number): number {
    this.#top = 0;
    this.json.forgetKeys();
    this.#alloc(2);
    return this.#value(plan, start, 0, depth, false);
  }

  endOf(plan: ValuePlan | null, note: number): number {
    const { tape } = this;
    const c = this.json.bytes[Math.abs(tape[note] as number)];
    const end = tape[note + 1] as number;
    const hasFrame =
      (plan?.kind === KIND.RECORD && c === OPEN_BRACE) || (plan?.kind === KIND.LIST && c === OPEN_BRACKET);
    return hasFrame ? (tape[end] as number) : Math.abs(end);
  }

  startAt(note: number): number {
    return note === 0 ? 0 : Math.abs(this.tape[note] as number);
  }

  /** Returns the text of a string; null for any other value. If the text equals `likely`, no new text is made. */
  stringAt(note: number, likely: string | null = null): string | null {
    const start = this.startAt(note);
    if (this.json.bytes[start] !== QUOTE) return null;
    const end = this.tape[note + 1] as number;
    return likely !== null && this.json.isText(start, end, likely) ? likely : this.json.text(start, end);
  }

  copy(start: number, end: number): Buffer {
    return Buffer.from(this.json.bytes.subarray(start, end));
  }

  elementNotes(frame: number): number[] {
    const notes: number[] = [];
    let element = this.tape[frame + 2] as number;
    for (let k = this.tape[frame + 1] as number; k > 0; k--, element = this.tape[element] as number) {
      notes.push(element + ELEMENT_NOTE);
    }
    return notes;
  }

  countUnknown(note: number): number {
    let count = 0;
    const frame = this.tape[note + 1] as number;
    for (let at = this.tape[frame + 1] as number; at !== 0; at = this.tape[at] as number) {
      if (this.json.bytes[this.startAt(at + UNKNOWN_NOTE)] !== SMALL_N) count += 1;
    }
    return count;
  }

  /** The note of the object's member with this slot (see `RecordPlan`); 0 if the value is not an object. */
  noteOf(note: number, slot: number): number {
    const isObject = this.json.bytes[Math.abs(this.tape[note] as number)] === OPEN_BRACE;
    return isObject ? (this.tape[note + 1] as number) + NOTES + 2 * slot : 0;
  }

  longOf(plan: ValuePlan, note: number, name: string): bigint | null {
    const own = this.noteOf(note, slotOf(plan, name));
    if (own === 0) return null;
    return readLong(this.json.bytes, Math.abs(this.tape[own] as number), Math.abs(this.tape[own + 1] as number));
  }

  #value(plan: ValuePlan, start: number, note: number, depth: number, capitalised: boolean): number {
    const { json } = this;
    const { bytes } = json;
    this.tape[note] = capitalised ? -start : start;
    const c = bytes[start] as number;
    if (c === QUOTE) {
      const end = json.string(start + 1);
      this.tape[note + 1] = end;
      return end < 0 ? -end : end;
    }
    if (c === OPEN_BRACE && plan.kind === KIND.RECORD) return this.#object(plan, start, note, depth + 1);
    if (c === OPEN_BRACKET && plan.kind === KIND.LIST) return this.#list(plan, start, note, depth + 1);
    const end = c <= NINE ? json.number(start) : json.skip(start, depth);
    this.tape[note + 1] = end;
    return end;
  }

  #object(plan: ValuePlan, start: number, note: number, depth: number): number {
    const record = plan.record;
    if (record === null) throw new Error('The plan of a record has no members.');
    const { json } = this;
    const { bytes } = json;
    if (depth > DEEPEST_NESTING) json.tooDeep(start);
    const frame = this.#alloc(record.frameSize);
    this.tape[note + 1] = frame;
    let last = record.start;
    let hasBoth = false;
    let i = json.space(start + 1);
    for (let first = true; bytes[i] !== CLOSE_BRACE; first = false) {
      if (!first) {
        if (bytes[i] !== COMMA) json.fail(i, 'a comma or the end of the object');
        i = json.space(i + 1);
      }
      const keyStart = i;
      if (bytes[i] !== QUOTE) json.fail(i, 'a key in quotes');
      let key: Key | undefined = last.next;
      if (this.#matches(key, i + 1)) i = json.space(i + 1 + key.length);
      else {
        const keyEnd = json.string(i + 1);
        i = json.colon(keyEnd < 0 ? -keyEnd : keyEnd);
        key = record.keys.get(json.text(keyStart, keyEnd));
        if (key === undefined) {
          i = json.space(this.#value(IGNORED, i, this.#unknown(frame, keyStart, keyEnd), depth, false));
          continue;
        }
        last.next = key;
      }
      last = key;
      const own = frame + NOTES + 2 * key.slot;
      let place = own;
      if (this.tape[own] !== 0) {
        place = this.#placeOfSecond(key, frame, own);
        hasBoth = hasBoth || place !== own || key.capitalised === false;
      }
      i = json.space(this.#value(key.plan, i, place, depth, key.capitalised));
    }
    this.tape[frame] = i + 1;
    if (hasBoth) this.#settleSpellings(frame);
    return i + 1;
  }

  #list(plan: ValuePlan, start: number, note: number, depth: number): number {
    const item = plan.item;
    if (item === null) throw new Error('The plan of a list has no elements.');
    const { json } = this;
    const { bytes } = json;
    if (depth > DEEPEST_NESTING) json.tooDeep(start);
    const frame = this.#alloc(3);
    this.tape[note + 1] = frame;
    let link = frame + 2;
    let count = 0;
    let i = json.space(start + 1);
    while (bytes[i] !== CLOSE_BRACKET) {
      if (count > 0) {
        if (bytes[i] !== COMMA) json.fail(i, 'a comma or the end of the array');
        i = json.space(i + 1);
      }
      const element = this.#alloc(3);
      this.tape[link] = element;
      link = element;
      count += 1;
      i = json.space(this.#value(item, i, element + ELEMENT_NOTE, depth, false));
    }
    this.tape[frame] = i + 1;
    this.tape[frame + 1] = count;
    return i + 1;
  }

  // Returns the note for a member that occurs again; its key may be spelled `name` or `Name`. If both keys have the
  // same spelling, the later value replaces the earlier value. If the spellings differ, the capitalised member is kept
  // among the unknown members until the object ends.
  #placeOfSecond(key: Key, frame: number, own: number): number {
    const isSame = (this.tape[own] as number) < 0 === key.capitalised;
    if (isSame) {
      this.json.duplicateKeys += 1;
      return own;
    }
    const other = this.#otherSpelling(frame, key.slot);
    if (key.capitalised) {
      if (this.tape[other] !== 0) this.json.duplicateKeys += 1;
      return other;
    }
    this.tape[other] = this.tape[own] as number;
    this.tape[other + 1] = this.tape[own + 1] as number;
    return own;
  }

  // Returns the note for a member's capitalised spelling. The note lies in an entry of the list of unknown members. The
  // entry has the negative number `-1 - slot` instead of its key's start.
  #otherSpelling(frame: number, slot: number): number {
    for (let at = this.tape[frame + 1] as number; at !== 0; at = this.tape[at] as number) {
      if (this.tape[at + 1] === -1 - slot) return at + UNKNOWN_NOTE;
    }
    return this.#link(frame, -1 - slot, 0);
  }

  #settleSpellings(frame: number): void {
    const { tape } = this;
    for (let at = tape[frame + 1] as number; at !== 0; at = tape[at] as number) {
      const slot = -1 - (tape[at + 1] as number);
      if (slot < 0) continue;
      const own = frame + NOTES + 2 * slot;
      if (this.json.bytes[Math.abs(tape[own] as number)] !== SMALL_N) continue;
      tape[own] = tape[at + UNKNOWN_NOTE] as number;
      tape[own + 1] = tape[at + UNKNOWN_NOTE + 1] as number;
      tape[at + UNKNOWN_NOTE] = 0;
    }
  }

  // The note for an unknown member. A repeated key gets the note of the earlier member.
  #unknown(frame: number, keyStart: number, keyEnd: number): number {
    const name = keyEnd < 0 ? this.json.text(keyStart, keyEnd) : null;
    const hash =
      name === null
        ? hashBytes(this.json.bytes, keyStart + 1, keyEnd - 1)
        : hashBytes(Buffer.from(name), 0, Buffer.byteLength(name));
    if (!this.json.seen.add(frame, hash)) {
      const wanted = this.json.text(keyStart, keyEnd);
      for (let at = this.tape[frame + 1] as number; at !== 0; at = this.tape[at] as number) {
        const start = this.tape[at + 1] as number;
        if (start < 0 || this.json.text(start, this.tape[at + 2] as number) !== wanted) continue;
        this.json.duplicateKeys += 1;
        return at + UNKNOWN_NOTE;
      }
    }
    return this.#link(frame, keyStart, keyEnd);
  }

  #link(frame: number, keyStart: number, keyEnd: number): number {
    const at = this.#alloc(UNKNOWN_NOTE + 2);
    this.tape[at] = this.tape[frame + 1] as number;
    this.tape[at + 1] = keyStart;
    this.tape[at + 2] = keyEnd;
    this.tape[frame + 1] = at;
    return at + UNKNOWN_NOTE;
  }

  #matches(key: Key, start: number): boolean {
    const { words } = key;
    const { json } = this;
    const { view } = json;
    const last = words.length - 1;
    if (start + key.length > json.end) return false;
    let i = start;
    for (let k = 0; k < last; k++, i += 4) if (view.getInt32(i, true) !== words[k]) return false;
    return (view.getInt32(i, true) & key.mask) === words[last];
  }

  #alloc(size: number): number {
    const at = this.#top;
    this.#top += size;
    if (this.#top > this.tape.length) {
      const longer = new Int32Array(2 * this.#top);
      longer.set(this.tape);
      this.tape = longer;
    }
    const { tape } = this;
    for (let k = at; k < at + size; k++) tape[k] = 0;
    return at;
  }
}

export function derivedNote(reader: RowReader, field: DerivedPlan, frame: number): number {
  const { tape } = reader;
  const { bytes } = reader.json;
  let inside = frame;
  if (field.within >= 0) {
    const note = frame + NOTES + 2 * field.within;
    if (bytes[Math.abs(tape[note] as number)] !== OPEN_BRACE) return 0;
    inside = tape[note + 1] as number;
  }
  if (field.firstOf !== null) return findFirst(reader, field.firstOf, inside);
  return inside + NOTES + 2 * field.slot;
}

// Returns the note of the value, or 0 without a value. Also 0 for a list with an element of a wrong type.
function findFirst(reader: RowReader, { list, type, typeSlot, valueSlot }: FirstOf, frame: number): number {
  const { tape } = reader;
  const { bytes } = reader.json;
  const note = frame + NOTES + 2 * list;
  if (bytes[Math.abs(tape[note] as number)] !== OPEN_BRACKET) return 0;
  const listFrame = tape[note + 1] as number;
  let found = 0;
  let element = tape[listFrame + 2] as number;
  for (let k = tape[listFrame + 1] as number; k > 0; k--, element = tape[element] as number) {
    const start = tape[element + ELEMENT_NOTE] as number;
    if (bytes[start] !== OPEN_BRACE) return 0;
    if (found !== 0) continue;
    const notes = (tape[element + ELEMENT_NOTE + 1] as number) + NOTES;
    const value = notes + 2 * valueSlot;
    const isText = bytes[Math.abs(tape[value] as number)] === QUOTE;
    if (isText && hasText(reader, value) && isType(reader, notes + 2 * typeSlot, type)) found = value;
  }
  return found;
}

function hasText({ tape }: RowReader, note: number): boolean {
  const end = tape[note + 1] as number;
  return end < 0 || end - Math.abs(tape[note] as number) > 2;
}

function isType(reader: RowReader, note: number, type: string): boolean {
  const { tape } = reader;
  const { bytes } = reader.json;
  const start = Math.abs(tape[note] as number);
  const end = tape[note + 1] as number;
  if (bytes[start] !== QUOTE) return false;
  if (end - start !== type.length + 2) {
    const isOdd = end < 0 || end - start > type.length + 2;
    return isOdd && reader.json.text(start, end).toWellFormed().toLowerCase() === type;
  }
  for (let k = 0; k < type.length; k++) {
    if (((bytes[start + 1 + k] as number) | 0x20) !== type.charCodeAt(k)) return false;
  }
  return true;
}

export function fieldText(reader: RowReader, { record }: ValuePlan, note: number, name: string): string | null {
  const { tape, json } = reader;
  if (record === null || json.bytes[Math.abs(tape[note] as number)] !== OPEN_BRACE) return null;
  const frame = tape[note + 1] as number;
  const slot = record.members.findIndex((member) => member.name === name);
  const derived = record.derived.find((field) => field.name === name);
  const own = slot >= 0 || derived === undefined ? frame + NOTES + 2 * slot : derivedNote(reader, derived, frame);
  const start = own === 0 ? 0 : Math.abs(tape[own] as number);
  return json.bytes[start] === QUOTE ? json.text(start, tape[own + 1] as number).toWellFormed() : null;
}
