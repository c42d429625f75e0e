// From the JSON text of a leaf to its bytes in Avro: copied or converted, without a JavaScript value in between but for
// what is odd, such as strings with escapes and instants with an offset.
import { epochDays, localEpochMs } from '../avro/calendar.ts';
import { parseInstant } from '../avro/instant.ts';
import type { AssumedZone } from '../avro/time-zone.ts';
import { BYTES } from '../json/json-bytes.ts';
import type { JsonScanner } from '../json/json-scanner.ts';
import { isMinified, minified } from '../json/minified-json.ts';
import { writeUnescaped } from '../json/unescape.ts';
import { DATE_LENGTH, InstantReader, LOCAL_TIME_LENGTH, readDays, readLocalMs } from './moment-reader.ts';
import { DecimalWriter, writeBigZigzag, writeLong, writeZigzag } from './number-writer.ts';
import { KIND } from './plan.ts';
import type { Slab } from './slab.ts';
import { writeText } from './text-writer.ts';

const { QUOTE, MINUS, ZERO, NINE } = BYTES;
const SMALL_T = 0x74;
const SMALL_F = 0x66;
/** Longer strings are copied by a call, shorter ones word by word. */
const SHORT_STRING = 128;
const ONE_BYTE_LENGTH = 64;
const LARGEST_VARINT = 2 ** 51;

/** What a leaf lost, so that its text is kept in extras too: nothing, invalid characters, digits. */
export const INEXACT = { NO: 0, MENDED: 1, ROUNDED: 2 } as const;

/** Functions give the position behind what they wrote, and -1 for a value of the wrong type. */
export class LeafWriter {
  /** Of `INEXACT`; the reader of this flag resets it. */
  inexact: number = INEXACT.NO;
  readonly #json: JsonScanner;
  readonly #slab: Slab;
  readonly #zone: AssumedZone | null;
  readonly #decimals = new DecimalWriter();
  readonly #instants = new InstantReader();

  /** @param zone of instants without one; null: they are of the wrong type */
  constructor(json: JsonScanner, slab: Slab, zone: AssumedZone | null) {
    this.#json = json;
    this.#slab = slab;
    this.#zone = zone;
  }

  /** @param kind of `KIND`, below RECORD; @param end of the value, negative for a string with escapes */
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

  /** Bytes of the input, with their length. */
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
    // The last word may have up to three bytes too many, which the next write covers.
    const to = this.#slab.view;
    const last = o + length;
    for (let i = start; o < last; o += 4, i += 4) to.setInt32(o, from.getInt32(i, true), true);
    return last;
  }

  #writeEscaped(start: number, end: number, at: number): number {
    const { out } = this.#slab;
    // It becomes no longer than it is with its escapes, so the length takes as many bytes at most.
    const room = at + varintBytes(-end - start);
    const last = writeUnescaped(this.#json.bytes, start + 1, -end - 1, out, room);
    if (last < 0) return this.#writeMended(start, end, at);
    const length = last - room;
    const o = writeZigzag(length, out, at);
    if (o < room) out.copyWithin(o, room, last);
    return o + length;
  }

  // A lone surrogate is not a character and has no UTF-8.
  #writeMended(start: number, end: number, o: number): number {
    const text = this.#json.text(start, end);
    if (!text.isWellFormed()) this.inexact = INEXACT.MENDED;
    return writeText(text.toWellFormed(), this.#slab.out, o);
  }

  /** The text of a value, minified. */
  #writeJson(start: number, end: number, o: number): number {
    if (isMinified(this.#json, start, end)) return this.writeBytes(start, end, o);
    return writeText(minified(this.#json, start, end), this.#slab.out, o);
  }

  #writeInstant(start: number, end: number, o: number): number {
    const micros = end < 0 ? Number.NaN : this.#instants.micros(this.#json, start + 1, end - 1);
    if (Math.abs(micros) < LARGEST_VARINT) {
      if (this.#instants.rounded) this.inexact = INEXACT.ROUNDED;
      return writeZigzag(micros, this.#slab.out, o);
    }
    const instant = parseInstant(this.#json.text(start, end), this.#zone);
    if (instant === null || instant === 'noZone') return -1;
    if (instant.rounded) this.inexact = INEXACT.ROUNDED;
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
