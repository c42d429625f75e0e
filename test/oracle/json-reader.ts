import { isUtf8 } from 'node:buffer';
import { ConnectorError } from '../../src/errors.ts';
import { BYTES, describeByte, firstInvalidUtf8 } from '../../src/records/json/json-bytes.ts';
import { DEEPEST_NESTING } from '../../src/records/json/json-scanner.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../../src/records/json/json-value.ts';

const { QUOTE, COMMA, MINUS, ZERO, NINE, COLON } = BYTES;
const { OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE } = BYTES;

// Without the closing quote: what follows instead of it is the flaw.
const STRING = /"[ !#-[\]-\xff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\xff]*)*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** A value that was not read as a whole: it has too many bytes, or too many objects and arrays within each other. */
export const TOO_LONG = Symbol('a value longer than it may be');
export const NESTED_TOO_DEEP = Symbol('a value nested deeper than it may be');
export type Unread = typeof TOO_LONG | typeof NESTED_TOO_DEEP;

/**
 * A strict reader of JSON (RFC 8259) over bytes. It can be driven from outside, member by member and element by
 * element, so that a long array need never be in memory as a whole; `readValue` reads everything below at once.
 *
 * The last byte of the input must be a zero that is not part of the text: no look-ahead then needs a bounds check.
 * Of duplicate keys the last wins. Lone surrogates in escapes are kept; a caller that needs valid text must check.
 * Errors are ConnectorError BODY_MALFORMED and say what was found at which byte, but never quote the text.
 */
export class JsonReader {
  position = 0;
  /** How many keys appeared again in their object. */
  duplicateKeys = 0;
  readonly #bytes: Buffer;
  /** A character for each byte. */
  readonly #text: string;
  readonly #end: number;
  // Where a value of limited length must have ended.
  #limit = Number.POSITIVE_INFINITY;

  constructor(bytesAndZero: Buffer) {
    this.#bytes = bytesAndZero;
    this.#text = bytesAndZero.toString('latin1');
    this.#end = bytesAndZero.length - 1;
  }

  /** Asserts that the text read since `start` is UTF-8. Strings are read byte by byte, without decoding. */
  assertUtf8(start: number): void {
    const read = this.#bytes.subarray(start, this.position);
    if (!isUtf8(read)) throw this.#malformed(start + firstInvalidUtf8(read), 'a byte that is not UTF-8', 'text');
  }

  /** Skips white space; the byte that follows, or 0 at the end. */
  peek(): number {
    let byte = this.#byteAt(this.position);
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      this.position += 1;
      byte = this.#byteAt(this.position);
    }
    return byte;
  }

  /** Consumes `{`. */
  openObject(): void {
    this.#expect(OPEN_BRACE, 'an object');
  }

  /** The key of the next member, its colon consumed; null when the object ended, its brace consumed. */
  nextKey(first: boolean): string | null {
    if (this.#ended(first, CLOSE_BRACE, 'a comma or the end of the object')) return null;
    if (this.peek() !== QUOTE) throw this.#unexpected('a key in quotes');
    const key = this.#readString();
    this.#expect(COLON, 'a colon');
    return key;
  }

  /** Consumes `[`. */
  openArray(): void {
    this.#expect(OPEN_BRACKET, 'an array');
  }

  /** True when an element follows; false when the array ended, its bracket consumed. */
  nextElement(first: boolean): boolean {
    return !this.#ended(first, CLOSE_BRACKET, 'a comma or the end of the array');
  }

  /** Asserts that nothing but white space follows. */
  finish(): void {
    if (this.peek() !== 0 || this.position < this.#end) throw this.#unexpected('the end of the text');
  }

  /** Reads one whole value. `depth` is the number of objects and arrays around it. */
  readValue(depth: number): JsonValue {
    const byte = this.peek();
    if (byte === QUOTE) return this.#readString();
    if (byte === MINUS || (byte >= ZERO && byte <= NINE)) return this.#readNumber();
    if (byte === OPEN_BRACE) return this.#readObject(depth + 1);
    if (byte === OPEN_BRACKET) return this.#readArray(depth + 1);
    if (byte === 0x74) return this.#readWord('true', true);
    if (byte === 0x66) return this.#readWord('false', false);
    if (byte === 0x6e) return this.#readWord('null', null);
    throw this.#unexpected('a value');
  }

  /**
   * The same for a value of so many bytes at most. A longer one, or one that is nested too deep, is not read, and the
   * position is back at its start: neither the time nor the memory that a value takes is decided by its sender.
   */
  readBounded(depth: number, maxBytes: number): JsonValue | Unread {
    this.peek();
    const { position: start, duplicateKeys } = this;
    this.#limit = start + maxBytes;
    try {
      const value = this.readValue(depth);
      if (this.position <= this.#limit) return value;
      throw TOO_LONG;
    } catch (error) {
      // Bytes beyond the limit do not count, so an error there only says that the value is too long.
      const unread = this.#isBeyondLimit(error) ? TOO_LONG : error;
      if (unread !== TOO_LONG && unread !== NESTED_TOO_DEEP) throw error;
      this.position = start;
      this.duplicateKeys = duplicateKeys;
      return unread;
    } finally {
      this.#limit = Number.POSITIVE_INFINITY;
    }
  }

  #readObject(depth: number): JsonObject {
    this.#assertDepth(depth);
    this.position += 1;
    const members = new Map<string, JsonValue>();
    let count = 0;
    for (let key = this.nextKey(true); key !== null; key = this.nextKey(false)) {
      members.set(key, this.readValue(depth));
      count += 1;
    }
    this.duplicateKeys += count - members.size;
    return members;
  }

  #readArray(depth: number): readonly JsonValue[] {
    this.#assertDepth(depth);
    this.position += 1;
    const elements: JsonValue[] = [];
    for (let first = true; this.nextElement(first); first = false) elements.push(this.readValue(depth));
    return elements;
  }

  #readString(): string {
    const { position: start } = this;
    const end = this.#match(STRING);
    if (this.#byteAt(end) !== QUOTE) throw this.#unexpected('the end of the string', end);
    this.position = end + 1;
    return JSON.parse(this.#bytes.toString('utf8', start, end + 1));
  }

  #readNumber(): JsonNumber {
    const { position: start } = this;
    this.position = this.#match(NUMBER);
    if (this.position === start) throw this.#unexpected('a digit', start + 1);
    return new JsonNumber(this.#bytes.toString('latin1', start, this.position));
  }

  #readWord<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.position)) throw this.#unexpected('a value');
    this.position += word.length;
    return value;
  }

  /** Where the text that an expression describes ends; the position itself where it finds none. */
  #match(expression: RegExp): number {
    expression.lastIndex = this.position;
    return this.position + (expression.exec(this.#text)?.[0].length ?? 0);
  }

  #ended(first: boolean, close: number, expected: string): boolean {
    const byte = this.peek();
    if (this.position > this.#limit) throw TOO_LONG;
    if (byte === close) {
      this.position += 1;
      return true;
    }
    if (first) return false;
    if (byte !== COMMA) throw this.#unexpected(expected);
    this.position += 1;
    return false;
  }

  #expect(byte: number, expected: string): void {
    if (this.peek() !== byte) throw this.#unexpected(expected);
    this.position += 1;
  }

  #assertDepth(depth: number): void {
    if (depth <= DEEPEST_NESTING) return;
    if (this.#limit < Number.POSITIVE_INFINITY) throw this.position > this.#limit ? TOO_LONG : NESTED_TOO_DEEP;
    throw this.#malformed(this.position, `nesting deeper than ${DEEPEST_NESTING}`, 'a value');
  }

  #isBeyondLimit(error: unknown): boolean {
    return error instanceof ConnectorError && Number(error.fields.byte) > this.#limit;
  }

  // 0 beyond the input, as behind an escape that the end cuts.
  #byteAt(at: number): number {
    return this.#bytes[at] ?? 0;
  }

  #unexpected(expected: string, at = this.position): ConnectorError {
    return this.#malformed(at, at >= this.#end ? 'the end' : describeByte(this.#byteAt(at)), expected);
  }

  #malformed(at: number, found: string, expected: string): ConnectorError {
    return new ConnectorError(
      'BODY_MALFORMED',
      `Malformed JSON at byte ${at} of ${this.#end}: found ${found}, expected ${expected}.`,
      { fields: { byte: at, bytes: this.#end } },
    );
  }
}
