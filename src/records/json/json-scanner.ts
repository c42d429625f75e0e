// Scans JSON bytes. If the input ends within a value, throws CUT: the caller repeats the scan when it has more input.

import { isAscii, isUtf8 } from 'node:buffer';
import { ConnectorError } from '../../errors.ts';
import { type BodyChunks, collectBytes } from '../../provider/http/body-chunks.ts';
import { BYTES, describeByte, ESCAPES, hexDigit } from './json-bytes.ts';
import { type JsonValue, parseJson } from './json-value.ts';

const LONGEST_VALUE_BYTES = 512 * 1024;

// Remembers hashes of keys: a new hash proves a new key. `clear` begins a new round and forgets all earlier keys.

const FIRST_SLOTS = 256;
const MULTIPLIER = 0x9e37_79b1;
const PRIME = 0x0100_0193;

class SeenKeys {
  #hashes = new Int32Array(FIRST_SLOTS);
  #rounds = new Int32Array(FIRST_SLOTS);
  #round = 1;
  #count = 0;

  clear(): void {
    if (this.#count === 0) return;
    this.#count = 0;
    this.#round += 1;
    if (this.#hashes.length > FIRST_SLOTS || this.#round === 0x7fff_ffff) this.#resize(FIRST_SLOTS);
  }

  /** Returns false if the object may already have this key. */
  add(object: number, key: number): boolean {
    if (2 * this.#count >= this.#hashes.length) this.#grow();
    const hash = Math.imul(object, MULTIPLIER) ^ key;
    if (!this.#insert(hash)) return false;
    this.#count += 1;
    return true;
  }

  #insert(hash: number): boolean {
    const last = this.#hashes.length - 1;
    let slot = Math.imul(hash, MULTIPLIER) >>> 8;
    for (;;) {
      slot &= last;
      if (this.#rounds[slot] !== this.#round) {
        this.#rounds[slot] = this.#round;
        this.#hashes[slot] = hash;
        return true;
      }
      if (this.#hashes[slot] === hash) return false;
      slot += 1;
    }
  }

  #grow(): void {
    const [hashes, rounds, round] = [this.#hashes, this.#rounds, this.#round];
    this.#resize(2 * hashes.length);
    for (const [slot, hash] of hashes.entries()) if (rounds[slot] === round) this.#insert(hash);
  }

  #resize(slots: number): void {
    this.#hashes = new Int32Array(slots);
    this.#rounds = new Int32Array(slots);
    this.#round = 1;
  }
}

export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c_9dc5 | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), PRIME);
  return hash;
}

/** Thrown if the input ends within a value. This happens often, so all throws share one error object. */
export const CUT = new Error('The input ends within a value.');

/** Thrown if objects and arrays are nested too deeply; `flawAt` is the position. */
export const TOO_DEEP = new Error('Nesting too deep.');

export const DEEPEST_NESTING = 64;

/** The number of zero bytes after the input. A zero byte ends each loop, so no function reads after the padding. */
const PADDING = 8;
const { QUOTE, COMMA, MINUS, POINT, ZERO, NINE, COLON, BACKSLASH } = BYTES;
const { OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE } = BYTES;
const SMALL_E = 0x65;
const SMALL_F = 0x66;
const SMALL_N = 0x6e;
const SMALL_T = 0x74;
const SMALL_U = 0x75;
const PLUS = 0x2b;

export class JsonScanner {
  /** The input lies from 1 to `end`. Position 0 means no value: it has the byte `n`, so it is read as null. */
  bytes: Buffer;
  view: DataView;
  end = 1;
  /** The position after the last piece that was not ASCII. Invalid UTF-8 can only lie before this position. */
  asciiFrom = 1;
  ended = false;
  offset = -1;
  duplicateKeys = 0;
  flawAt = 0;
  /** The keys of the row's objects. The number of an object is the position of its frame (`row-reader.ts`), or -1, -2 … if skipped. */
  readonly seen = new SeenKeys();
  #skippedObjects = 0;
  #maybeDuplicates = false;
  #comparesTexts = false;

  constructor(bufferBytes: number) {
    this.bytes = inputBuffer(bufferBytes);
    this.view = viewOf(this.bytes);
  }

  /** Appends a piece and may drop the bytes before `keep`. Returns the number of bytes by which the rest moved. */
  append(piece: Uint8Array, keep: number): number {
    let moved = 0;
    if (this.end + piece.length + PADDING > this.bytes.length) {
      const rest = this.end - keep;
      const old = this.bytes;
      if (1 + rest + piece.length + PADDING > old.length) {
        this.bytes = inputBuffer(2 * (rest + piece.length));
        this.view = viewOf(this.bytes);
      }
      old.copy(this.bytes, 1, keep, this.end);
      moved = keep - 1;
      this.end = 1 + rest;
      this.offset += moved;
      this.asciiFrom -= moved;
    }
    this.bytes.set(piece, this.end);
    this.end += piece.length;
    if (!isAscii(piece)) this.asciiFrom = this.end;
    this.bytes.fill(0, this.end, this.end + PADDING);
    return moved;
  }

  reset(bufferBytes: number): void {
    this.end = 1;
    this.asciiFrom = 1;
    this.ended = false;
    this.offset = -1;
    if (this.bytes.length <= 4 * (bufferBytes + PADDING)) return;
    this.bytes = inputBuffer(bufferBytes);
    this.view = viewOf(this.bytes);
  }

  forgetKeys(): void {
    this.duplicateKeys = 0;
    this.#skippedObjects = 0;
    this.seen.clear();
  }

  space(start: number): number {
    const { bytes } = this;
    let i = start;
    for (let c = bytes[i] as number; c <= 0x20 && (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09); ) {
      i += 1;
      c = bytes[i] as number;
    }
    return i;
  }

  /** Reads a key; returns the position after the key, negative if the key has escapes. */
  key(start: number): number {
    if (this.bytes[start] !== QUOTE) this.fail(start, 'a key in quotes');
    return this.string(start + 1);
  }

  colon(start: number): number {
    const i = this.space(start);
    if (this.bytes[i] !== COLON) this.fail(i, 'a colon');
    return this.space(i + 1);
  }

  /** `start`: after the opening quote. Returns the position after the closing quote, negative if there are escapes. */
  string(start: number): number {
    const { bytes } = this;
    let i = start;
    let c = bytes[i] as number;
    while (c !== QUOTE && c !== BACKSLASH && c >= 0x20) c = bytes[++i] as number;
    if (c === QUOTE) return i + 1;
    while (c !== QUOTE) {
      if (c < 0x20) this.fail(i, 'the end of the string');
      i = c === BACKSLASH ? this.#escape(i + 1) : i + 1;
      c = bytes[i] as number;
    }
    return -(i + 1);
  }

  skip(start: number, depth: number): number {
    this.#maybeDuplicates = false;
    const end = this.#skip(start, depth);
    if (this.#maybeDuplicates) {
      this.#comparesTexts = true;
      this.#skip(start, depth);
      this.#comparesTexts = false;
    }
    return end;
  }

  value(start: number, end: number): JsonValue {
    return parseJson(this.bytes.toString('utf8', start, end));
  }

  /** @throws CUT if `at` is the end of the input so far and more may follow, else BODY_MALFORMED */
  fail(at: number, expected: string): never {
    if (at >= this.end && !this.ended) throw CUT;
    this.flawAt = at;
    const found = at >= this.end ? 'the end' : describeByte(this.bytes[at] as number);
    throw malformedAt(at + this.offset, found, expected);
  }

  text(start: number, end: number): string {
    if (end < 0) return JSON.parse(this.bytes.toString('utf8', start, -end)) as string;
    return this.bytes.toString('utf8', start + 1, end - 1);
  }

  /** Compares a string (with its quotes) with `text`. False if the string has escapes, or `text` is not ASCII. */
  isText(start: number, end: number, text: string): boolean {
    const { length } = text;
    if (end - start !== length + 2) return false;
    for (let k = 0; k < length; k++) {
      const code = text.charCodeAt(k);
      if (code >= 0x80 || this.bytes[start + 1 + k] !== code) return false;
    }
    return true;
  }

  tooDeep(at: number): never {
    this.flawAt = at;
    throw TOO_DEEP;
  }

  #escape(start: number): number {
    const letter = this.bytes[start] as number;
    if (letter !== SMALL_U) {
      if (!ESCAPES.has(letter)) this.fail(start, 'a valid letter after the backslash');
      return start + 1;
    }
    for (let i = start + 1; i < start + 5; i++) {
      if (hexDigit(this.bytes[i] as number) < 0) this.fail(i, 'a hexadecimal digit');
    }
    return start + 5;
  }

  number(start: number): number {
    const { bytes } = this;
    let i = bytes[start] === MINUS ? start + 1 : start;
    i = bytes[i] === ZERO ? i + 1 : this.#digits(i, i === start ? 'a value' : 'a digit');
    if (bytes[i] === POINT) i = this.#digits(i + 1, 'a digit');
    const c = bytes[i] as number;
    if ((c | 0x20) !== SMALL_E) return i;
    i += 1;
    if (bytes[i] === MINUS || bytes[i] === PLUS) i += 1;
    return this.#digits(i, 'a digit');
  }

  #digits(start: number, expected: string): number {
    const { bytes } = this;
    let i = start;
    let c = bytes[i] as number;
    if (c < ZERO || c > NINE) this.fail(i, expected);
    while (c >= ZERO && c <= NINE) c = bytes[++i] as number;
    return i;
  }

  #word(start: number, word: string): number {
    for (let k = 0; k < word.length; k++) {
      if (this.bytes[start + k] !== word.charCodeAt(k)) this.fail(start + k, 'a value');
    }
    return start + word.length;
  }

  #skip(start: number, depth: number): number {
    switch (this.bytes[start]) {
      case QUOTE:
        return Math.abs(this.string(start + 1));
      case SMALL_N:
        return this.#word(start, 'null');
      case SMALL_T:
        return this.#word(start, 'true');
      case SMALL_F:
        return this.#word(start, 'false');
      case OPEN_BRACE:
        return this.#skipObject(start, depth + 1);
      case OPEN_BRACKET:
        return this.#skipArray(start, depth + 1);
      default:
        return this.number(start);
    }
  }

  #skipObject(start: number, depth: number): number {
    if (depth > DEEPEST_NESTING) this.tooDeep(start);
    const { bytes } = this;
    this.#skippedObjects += 1;
    const object = -this.#skippedObjects;
    const texts = this.#comparesTexts ? new Set<string>() : null;
    let i = this.space(start + 1);
    for (let first = true; bytes[i] !== CLOSE_BRACE; first = false) {
      if (!first) {
        if (bytes[i] !== COMMA) this.fail(i, 'a comma or the end of the object');
        i = this.space(i + 1);
      }
      const keyEnd = this.key(i);
      if (texts !== null) {
        const text = this.text(i, keyEnd);
        if (texts.has(text)) this.duplicateKeys += 1;
        texts.add(text);
      }
      // A key with escapes may equal a key without escapes.
      else if (keyEnd < 0 || !this.seen.add(object, hashBytes(bytes, i + 1, keyEnd - 1))) this.#maybeDuplicates = true;
      i = this.space(this.#skip(this.colon(Math.abs(keyEnd)), depth));
    }
    return i + 1;
  }

  #skipArray(start: number, depth: number): number {
    if (depth > DEEPEST_NESTING) this.tooDeep(start);
    const { bytes } = this;
    let i = this.space(start + 1);
    for (let first = true; bytes[i] !== CLOSE_BRACKET; first = false) {
      if (!first) {
        if (bytes[i] !== COMMA) this.fail(i, 'a comma or the end of the array');
        i = this.space(i + 1);
      }
      i = this.space(this.#skip(i, depth));
    }
    return i + 1;
  }
}

function malformedAt(at: number, found: string, expected: string): ConnectorError {
  return new ConnectorError('BODY_MALFORMED', `Malformed JSON at byte ${at}: found ${found}, expected ${expected}.`, {
    fields: { byte: at },
  });
}

function inputBuffer(bytes: number): Buffer {
  const buffer = Buffer.alloc(1 + bytes + PADDING);
  buffer[0] = SMALL_N;
  return buffer;
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

export async function readJson(body: BodyChunks, maxBytes = LONGEST_VALUE_BYTES): Promise<JsonValue> {
  const bytes = await collectBytes(body);
  if (bytes.length > maxBytes) throw malformed(`has more than ${maxBytes} bytes`);
  assertUtf8(bytes, 0);
  try {
    return parseJson(bytes.toString());
  } catch {
    // The parser's error is dropped, because it quotes the body.
    throw new ConnectorError('BODY_MALFORMED', 'The body is not JSON. Nothing was written.');
  }
}

/** @param at the position of the bytes in the body */
export function assertUtf8(bytes: Buffer, at: number): void {
  if (isUtf8(bytes)) return;
  // The decoded text has U+FFFD for each invalid byte, so the first difference is the first invalid byte.
  const mended = Buffer.from(bytes.toString());
  const first = bytes.findIndex((byte, k) => byte !== mended[k]);
  throw malformedAt(at + first, 'a byte that is not UTF-8', 'text');
}

/** The error for a JSON body of an unexpected shape; `what` never quotes a value. */
export function malformed(what: string): ConnectorError {
  return new ConnectorError('BODY_MALFORMED', `The body is JSON that ${what}. Nothing was written.`);
}
