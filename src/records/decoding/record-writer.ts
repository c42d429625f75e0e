// Writes a row as an Avro record, from the notes of `row-reader.ts`. If a method returns -1 in place of a position, a
// value has the wrong type, or the record must be written again (`again`).

import {
  type AssumedZone,
  DATE_LENGTH,
  epochDays,
  InstantReader,
  LOCAL_TIME_LENGTH,
  localEpochMs,
  parseInstant,
  readDays,
  readLocalMs,
} from '../avro/instant.ts';
import { WIRE_HEADER_BYTES, writeWireHeader } from '../avro/wire-format.ts';
import { BYTES, writeUnescaped } from '../json/json-bytes.ts';
import type { JsonScanner } from '../json/json-scanner.ts';
import { isMinified, minified } from '../json/minified-json.ts';
import { type RecordOptions, USUAL_SIZES } from './decoded-list.ts';
import { type Extra, Extras, Mismatches } from './extras.ts';
import {
  copyBytes,
  DecimalWriter,
  type GivenField,
  writeBigZigzag,
  writeLong,
  writeText,
  writeZigzag,
} from './number-writer.ts';
import {
  DERIVED,
  type DerivedPlan,
  KIND,
  NOTES,
  NULLABLE,
  type RecordPlan,
  type ValuePlan,
  WRITTEN_NULLABLE,
} from './plan.ts';
import { derivedNote, ELEMENT_NOTE, type RowReader } from './row-reader.ts';

/** Room after each record: strings are copied several bytes at a time, so bytes after a string may be overwritten. */
const SPARE_BYTES = 64;

// A large buffer for many records. Each record starts with room for its maximum size, so writes need no size check.
class Slab {
  out: Buffer = Buffer.alloc(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  used = 0;
  readonly #bytes: number;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  makeRoom(recordBytes: number): number {
    const bytes = WIRE_HEADER_BYTES + recordBytes + SPARE_BYTES;
    if (this.used + bytes > this.out.length) {
      this.out = Buffer.allocUnsafeSlow(Math.max(bytes, this.#bytes));
      this.view = new DataView(this.out.buffer, this.out.byteOffset, this.out.byteLength);
      this.used = 0;
    }
    return this.used + WIRE_HEADER_BYTES;
  }

  take(end: number, schemaId: number, tail: Uint8Array): Buffer {
    const last = end + tail.length;
    if (last > this.out.length) throw new Error('A record exceeds its computed maximum size.');
    copyBytes(tail, tail.length, this.out, end);
    const record = this.out.subarray(this.used, last);
    writeWireHeader(record, schemaId);
    this.used = last;
    return record;
  }
}

const { QUOTE, MINUS, ZERO, NINE } = BYTES;
const SMALL_T = 0x74;
const SMALL_F = 0x66;

const SHORT_STRING = 128;
const ONE_BYTE_LENGTH = 64;
const LARGEST_VARINT = 2 ** 51;

/** MENDED: characters of a text were replaced. ROUNDED: a decimal. FINE: an instant finer than a microsecond. Extras keep the sent text. */
const INEXACT = { NO: 0, MENDED: 1, ROUNDED: 2, FINE: 3 } as const;

// Writes single values, not records or lists. Functions return the position after the value, or -1 for a wrong type.
class LeafWriter {
  inexact: number = INEXACT.NO;
  readonly #json: JsonScanner;
  readonly #slab: Slab;
  readonly #zone: AssumedZone | null;
  readonly #decimals = new DecimalWriter();
  readonly #instants = new InstantReader();

  constructor(json: JsonScanner, slab: Slab, zone: AssumedZone | null) {
    this.#json = json;
    this.#slab = slab;
    this.#zone = zone;
  }

  /** @param kind a value of `KIND` below RECORD; @param end the value's end, negative for a string with escapes */
  write(kind: number, start: number, end: number, o: number): number {
    const { bytes } = this.#json;
    const { out } = this.#slab;
    const c = bytes[start] as number;
    switch (kind) {
      case KIND.STRING:
        if (c !== QUOTE) return -1;
        return end < 0 ? this.#writeEscaped(start, end, o) : this.writeBytes(start + 1, end - 1, o);
      case KIND.DECIMAL: {
        if (c !== MINUS && (c < ZERO || c > NINE)) return -1;
        const after = this.#decimals.write(bytes, start, end, out, o);
        if (this.#decimals.rounded) this.inexact = INEXACT.ROUNDED;
        return after;
      }
      case KIND.LONG:
        return c !== MINUS && (c < ZERO || c > NINE) ? -1 : writeLong(bytes, start, end, out, o);
      case KIND.DATE:
        if (c !== QUOTE) return -1;
        if (end - start === DATE_LENGTH + 2) return writeMoment(readDays(bytes, start + 1), out, o);
        return end < 0 ? writeMoment(epochDays(this.#json.text(start, end)), out, o) : -1;
      case KIND.LOCAL_TIME:
        if (c !== QUOTE) return -1;
        if (end - start === LOCAL_TIME_LENGTH + 2) return writeMoment(readLocalMs(bytes, start + 1), out, o);
        return end < 0 ? writeMoment(localEpochMs(this.#json.text(start, end)), out, o) : -1;
      case KIND.BOOLEAN:
        if (c !== SMALL_T && c !== SMALL_F) return -1;
        out[o] = c === SMALL_T ? 1 : 0;
        return o + 1;
      case KIND.INSTANT:
        return c === QUOTE ? this.#writeInstant(start, end, o) : -1;
      default:
        return this.#writeJson(start, Math.abs(end), o);
    }
  }

  writeBytes(start: number, end: number, at: number): number {
    const length = end - start;
    const { bytes, view: from } = this.#json;
    const { out } = this.#slab;
    let o = at;
    if (length < ONE_BYTE_LENGTH) out[o++] = 2 * length;
    else o = writeZigzag(length, out, o);
    if (length > SHORT_STRING) {
      bytes.copy(out, o, start, end);
      return o + length;
    }
    const to = this.#slab.view;
    const last = o + length;
    for (let i = start; o < last; o += 4, i += 4) to.setInt32(o, from.getInt32(i, true), true);
    return last;
  }

  #writeEscaped(start: number, end: number, at: number): number {
    const { out } = this.#slab;
    // A text is never longer without its escapes than with them. So this is enough room for its length prefix.
    const room = at + varintBytes(-end - start);
    const last = writeUnescaped(this.#json.bytes, start + 1, -end - 1, out, room);
    if (last < 0) return this.#writeMended(start, end, at);
    const length = last - room;
    const o = writeZigzag(length, out, at);
    if (o < room) out.copyWithin(o, room, last);
    return o + length;
  }

  #writeMended(start: number, end: number, o: number): number {
    const text = this.#json.text(start, end);
    if (!text.isWellFormed()) this.inexact = INEXACT.MENDED;
    return writeText(text.toWellFormed(), this.#slab.out, o);
  }

  #writeJson(start: number, end: number, o: number): number {
    if (isMinified(this.#json, start, end)) return this.writeBytes(start, end, o);
    return writeText(minified(this.#json, start, end), this.#slab.out, o);
  }

  #writeInstant(start: number, end: number, o: number): number {
    const micros = end < 0 ? Number.NaN : this.#instants.micros(this.#json, start + 1, end - 1);
    if (Math.abs(micros) < LARGEST_VARINT) {
      if (this.#instants.rounded) this.inexact = INEXACT.FINE;
      return writeZigzag(micros, this.#slab.out, o);
    }
    const instant = parseInstant(this.#json.text(start, end), this.#zone);
    if (instant === null || instant === 'noZone') return -1;
    if (instant.rounded) this.inexact = INEXACT.FINE;
    const { micros: exact } = instant;
    if (typeof exact === 'number' && Math.abs(exact) < LARGEST_VARINT) return writeZigzag(exact, this.#slab.out, o);
    return writeBigZigzag(BigInt(exact), this.#slab.out, o);
  }
}

function writeMoment(value: number | null, out: Uint8Array, o: number): number {
  return value === null || Number.isNaN(value) ? -1 : writeZigzag(value, out, o);
}

function varintBytes(length: number): number {
  return length < ONE_BYTE_LENGTH ? 1 : length < 8_192 ? 2 : 5;
}

const { OPEN_BRACE, OPEN_BRACKET } = BYTES;
const SMALL_N = 0x6e;
const KIND_BITS = NULLABLE - 1;
const IS_NULL = 0;
const IS_OTHER = 2;
const NOTHING = new Uint8Array(0);

export class RecordWriter {
  readonly extras: Extras;
  readonly mismatches: Mismatches;
  /** The caller's fields by name; the bytes of a nullable field begin with its union index. */
  readonly given = new Map<string, GivenField>();
  /** Unknown members of the object around the record's own object; the record's extras keep these members. */
  beside: readonly Extra[] = [];
  readonly #reader: RowReader;
  readonly #schemaId: number;
  readonly #slab: Slab;
  readonly #leaves: LeafWriter;
  // The maximum bytes of the record without extras. `#reserve`: more bytes, for a second attempt if extras did not fit.
  #most = 0;
  #reserve = 0;

  /** @param zone the zone for instants without a zone; null: such an instant has the wrong type */
  constructor(
    reader: RowReader,
    schemaId: number,
    { onMismatch, sizes = USUAL_SIZES }: RecordOptions,
    zone: AssumedZone | null = null,
  ) {
    this.#reader = reader;
    this.#schemaId = schemaId;
    this.#slab = new Slab(sizes.slab);
    this.#leaves = new LeafWriter(reader.json, this.#slab, zone);
    this.extras = new Extras(reader);
    this.mismatches = new Mismatches(reader, this.extras, onMismatch === 'keepInExtras', zone);
  }

  /**
   * Writes the value at a note as a record in Confluent's wire format, with `tail` after its fields. Returns null if
   * the value does not fit the schema. `rowBytes` is the number of the row's JSON bytes.
   */
  write(plan: ValuePlan, note: number, rowBytes: number, tail: Uint8Array = NOTHING): Buffer | null {
    this.extras.clear();
    this.#reserve = 0;
    // Each note has two integers on the tape. An absent value takes one byte in the record. A string, number or date
    // takes at most four times the bytes of its text and key; for example, a 1 becomes 10^18.
    this.#most = tail.length + (this.#reader.top >> 1) + 4 * rowBytes;
    for (const { length } of this.given.values()) this.#most += length;
    for (;;) {
      const at = this.#slab.makeRoom(this.#most + this.#reserve);
      this.mismatches.again = false;
      this.extras.restart();
      const end = this.#writeTop(plan, note, at);
      if (this.mismatches.again) continue;
      return end < 0 ? null : this.#slab.take(end, this.#schemaId, tail);
    }
  }

  #writeTop(plan: ValuePlan, note: number, at: number): number {
    const { tape } = this.#reader;
    const { bytes } = this.#reader.json;
    const start = Math.abs(tape[note] as number);
    if (plan.record === null || bytes[start] !== OPEN_BRACE) return this.mismatches.value(plan, note, -1);
    return this.#writeWhole(plan.record, tape[note + 1] as number, at, 0);
  }

  #writeWhole(record: RecordPlan, frame: number, at: number, depth: number): number {
    if (!record.isWhole) return this.#writeFields(record, frame, at, depth, 0);
    const extras = this.extras;
    const outer = extras.base;
    extras.base = depth;
    const end = this.#writeFields(record, frame, at, depth, depth === 0 ? 0 : extras.count);
    extras.base = outer;
    return end;
  }

  // `found` is the number of extras that belong to the records around this record.
  #writeFields(record: RecordPlan, frame: number, at: number, depth: number, found: number): number {
    const { kinds, sources, members } = record;
    const { tape } = this.#reader;
    const { bytes } = this.#reader.json;
    const { out } = this.#slab;
    if (record.envelopes.length > 0 && !this.mismatches.checkEnvelopes(record, frame, depth)) return -1;
    let o = at;
    for (let k = 0; k < kinds.length; k++) {
      const kind = kinds[k] as number;
      const source = sources[k] as number;
      if ((kind & KIND_BITS) >= DERIVED) {
        o = this.#writeDerived(record, frame, o, depth, kind, source, found);
        if (o < 0) return -1;
        continue;
      }
      const note = frame + NOTES + 2 * source;
      let start = tape[note] as number;
      if (start < 0) start = -start;
      if (bytes[start] === SMALL_N) {
        if ((kind & NULLABLE) === 0) return this.mismatches.member(record, source, note, depth);
        out[o++] = IS_NULL;
        continue;
      }
      const before = o;
      if ((kind & WRITTEN_NULLABLE) !== 0) out[o++] = IS_OTHER;
      const end = tape[note + 1] as number;
      if ((kind & KIND_BITS) >= KIND.RECORD)
        o = this.#writeContainer(members[source] as ValuePlan, start, end, o, depth);
      else {
        o = this.#leaves.write(kind & KIND_BITS, start, end, o);
        if (this.#leaves.inexact !== INEXACT.NO) this.#keepInexact(members[source] as ValuePlan, start, end, depth);
      }
      if (o >= 0) continue;
      if (!this.mismatches.giveWay(record, source, note, depth)) return -1;
      out[before] = IS_NULL;
      o = before + 1;
    }
    if (!record.isWhole && tape[frame + 1] !== 0) this.extras.keepUnknown(record, frame, depth);
    return o;
  }

  #keepInexact(plan: ValuePlan, start: number, end: number, depth: number): void {
    if (this.#leaves.inexact === INEXACT.ROUNDED) this.extras.roundedNumbers += 1;
    else if (this.#leaves.inexact === INEXACT.MENDED) this.extras.driftFields += 1;
    this.#leaves.inexact = INEXACT.NO;
    this.extras.path[depth] = plan.step;
    if (end < 0) this.extras.keep(depth, start, -end);
    else this.extras.keepAsSent(depth, start, end);
  }

  #writeContainer(plan: ValuePlan, start: number, frame: number, at: number, depth: number): number {
    const extras = this.extras;
    const c = this.#reader.json.bytes[start];
    if (c !== (plan.kind === KIND.RECORD ? OPEN_BRACE : OPEN_BRACKET)) return -1;
    const { count } = extras;
    const { driftFields, roundedNumbers } = extras;
    extras.path[depth] = plan.step;
    const end =
      plan.record === null
        ? this.#writeList(plan.item as ValuePlan, frame, at, depth + 1)
        : this.#writeWhole(plan.record, frame, at, depth + 1);
    if (end < 0 && plan.nullable && !this.mismatches.again) {
      // Extras keep the whole text of the object or list, so the extras from inside it are dropped.
      extras.truncate(count);
      extras.driftFields = driftFields;
      extras.roundedNumbers = roundedNumbers;
    }
    return end;
  }

  #writeList(item: ValuePlan, frame: number, at: number, depth: number): number {
    const { tape } = this.#reader;
    const { bytes } = this.#reader.json;
    const count = tape[frame + 1] as number;
    const { path } = this.extras;
    let o = at;
    if (count > 0) o = writeZigzag(count, this.#slab.out, o);
    let element = tape[frame + 2] as number;
    for (let k = 0; k < count; k++, element = tape[element] as number) {
      const note = element + ELEMENT_NOTE;
      path[depth] = k;
      if (item.record === null || bytes[tape[note] as number] !== OPEN_BRACE)
        return this.mismatches.value(item, note, depth);
      o = this.#writeWhole(item.record, tape[note + 1] as number, o, depth + 1);
      if (o < 0) return -1;
    }
    this.#slab.out[o] = 0;
    return o + 1;
  }

  #writeDerived(
    record: RecordPlan,
    frame: number,
    at: number,
    depth: number,
    kind: number,
    place: number,
    found: number,
  ): number {
    const field = record.derived[place] as DerivedPlan;
    if (kind === KIND.EXTRAS) return this.#writeExtras(record, frame, at, depth, found);
    if (kind === KIND.TAKEN) return this.#writeTaken(record, field, frame, at, depth);
    if (kind === KIND.FIRST_OF) return this.#writeCopy(field, derivedNote(this.#reader, field, frame), at);
    const given = this.given.get(field.name);
    if (given === undefined) throw new Error(`The field ${field.name} was not given.`);
    return copyBytes(given.bytes, given.length, this.#slab.out, at);
  }

  // Writes a field whose value is inside another JSON member. If the record has a field for that member too, writing that
  // field checks the types inside the member. Otherwise the member is an envelope, and only this method checks the types.
  #writeTaken(record: RecordPlan, field: DerivedPlan, frame: number, at: number, depth: number): number {
    const note = derivedNote(this.#reader, field, frame);
    const { plan } = field;
    if (plan === null || !record.envelopes.includes(field.within)) return this.#writeCopy(field, note, at);
    const end = this.#writeOptional(field, note, at);
    const { json, tape } = this.#reader;
    const start = Math.abs(tape[note] as number);
    this.extras.path[depth] = (record.members[field.within] as ValuePlan).step;
    if (this.#leaves.inexact !== INEXACT.NO) this.#keepInexact(plan, start, tape[note + 1] as number, depth + 1);
    if (end >= 0 || json.bytes[start] === SMALL_N) return end;
    const envelope = (record.members[field.within] as ValuePlan).record as RecordPlan;
    if (!this.mismatches.giveWay(envelope, field.slot, note, depth + 1)) return -1;
    this.#slab.out[at] = IS_NULL;
    return at + 1;
  }

  #writeCopy(field: DerivedPlan, note: number, at: number): number {
    const end = this.#writeOptional(field, note, at);
    this.#leaves.inexact = INEXACT.NO;
    return end;
  }

  #writeOptional({ nullable, plan }: DerivedPlan, note: number, at: number): number {
    const { json, tape } = this.#reader;
    const { out } = this.#slab;
    const start = note === 0 ? 0 : Math.abs(tape[note] as number);
    const isNull = json.bytes[start] === SMALL_N;
    let o = at;
    if (nullable) out[o++] = isNull ? IS_NULL : IS_OTHER;
    return isNull ? o : this.#leaves.write(plan?.kind ?? KIND.STRING, start, tape[note + 1] as number, o);
  }

  #writeExtras(record: RecordPlan, frame: number, at: number, depth: number, found: number): number {
    const { tape } = this.#reader;
    const extras = this.extras;
    const { out } = this.#slab;
    if (tape[frame + 1] !== 0) this.extras.keepUnknown(record, frame, depth);
    for (const slot of record.envelopes) {
      const note = frame + NOTES + 2 * slot;
      const { record: inner, step } = record.members[slot] as ValuePlan;
      const isThere = inner !== null && this.#reader.json.bytes[Math.abs(tape[note] as number)] === OPEN_BRACE;
      extras.path[depth] = step;
      if (isThere) this.extras.keepUnknown(inner, tape[note + 1] as number, depth + 1);
    }
    if (depth === 0) for (const extra of this.beside) extras.add(extra);
    if (extras.count === found) {
      out[at] = IS_NULL;
      return at + 1;
    }
    const bytes = extras.sort(found);
    // The extras and the fields after them must fit; otherwise the record is written again with more room.
    if (at + bytes + this.#most > out.length) {
      this.#reserve = at - this.#slab.used + bytes + this.#most;
      this.mismatches.again = true;
      return -1;
    }
    out[at] = IS_OTHER;
    let o = writeZigzag(extras.count - found, out, at + 1);
    for (let k = found; k < extras.count; k++) {
      const { pointer, text, start, end } = extras.at(k);
      o = writeText(pointer, out, o);
      o = text === null ? this.#leaves.writeBytes(start, end, o) : writeText(text, out, o);
    }
    extras.truncate(found);
    out[o] = 0;
    return o + 1;
  }
}
