// Finds the values of fields that are not sent as such: they are taken out of an object, or the first of a list.
import { BYTES } from '../json/json-bytes.ts';
import { type DerivedPlan, type FirstOf, NOTES, type ValuePlan } from './plan.ts';
import { ELEMENT_NOTE, type RowReader } from './row-reader.ts';

const { QUOTE, OPEN_BRACE, OPEN_BRACKET } = BYTES;

/** Where the value of a derived field is noted; 0 for none. `frame`: of its record. */
export function derivedNote(reader: RowReader, field: DerivedPlan, frame: number): number {
  const {
    json: { bytes },
    tape,
  } = reader;
  let inside = frame;
  if (field.within >= 0) {
    const note = frame + NOTES + 2 * field.within;
    if (bytes[Math.abs(tape[note] as number)] !== OPEN_BRACE) return 0;
    inside = tape[note + 1] as number;
  }
  if (field.firstOf !== null) return findFirst(reader, field.firstOf, inside);
  return inside + NOTES + 2 * field.slot;
}

// A list with anything but objects is of the wrong type: its field gives way, or the record.
function findFirst(reader: RowReader, { list, type, typeSlot, valueSlot }: FirstOf, frame: number): number {
  const {
    json: { bytes },
    tape,
  } = reader;
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

// In any casing.
function isType(reader: RowReader, note: number, type: string): boolean {
  const {
    json: { bytes },
    tape,
  } = reader;
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

/** The text of a field of an object; null where it is null, or no string. */
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
