import { isUtf8 } from 'node:buffer';
import { BYTES } from './json-bytes.ts';

/** The path to a row's key (member names in the schema's spelling), and the form of the key. */
export interface RowKey {
  readonly path: readonly string[];
  readonly form: 'integer' | 'text';
}

export const INSTRUMENT_KEY: RowKey = { path: ['id'], form: 'integer' };
export const EVENT_KEY: RowKey = { path: ['instrument', 'id'], form: 'integer' };

type Span = readonly [start: number, end: number];
const { QUOTE, BACKSLASH, COMMA, COLON, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE } = BYTES;

const MOST_SKIMMED_BYTES = 8 * 1024 * 1024;
const LEAST_TOO_LONG = 19;
const INTEGER = /^-?(0|[1-9]\d{0,18})$/;
// Known ids of checks have 14 characters. The limit leaves room for the value in a Kafka record.
const LONGEST_KEY_CHARACTERS = 512;

/** Finds the key in the first 8 MiB of a row that cannot be decoded; null if no key is found. */
export function skimKey(row: Buffer, { path, form }: RowKey): string | null {
  let at: Span | null = [0, Math.min(row.length, MOST_SKIMMED_BYTES)];
  for (const name of path) at = at === null ? null : findMember(row, at, name);
  if (at === null) return null;
  return form === 'integer' ? integerKey(row, at) : textKey(row, at);
}

export function usableKey(id: string): string | null {
  return id !== '' && id.length <= LONGEST_KEY_CHARACTERS ? id : null;
}

export function isIntegerKey(text: string): boolean {
  if (!INTEGER.test(text) || text === '-0') return false;
  return text.length < LEAST_TOO_LONG || BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

// Finds the last member of this name. If this member is missing or null, the name with a capital first letter is tried.
function findMember(bytes: Buffer, [start, end]: Span, name: string): Span | null {
  if (bytes[start] !== OPEN_BRACE) return null;
  const capitalised = name.charAt(0).toUpperCase() + name.slice(1);
  let exact: Span | null = null;
  let other: Span | null = null;
  for (let at = skipSpace(bytes, start + 1); at < end && bytes[at] === QUOTE; at = skipSpace(bytes, at + 1)) {
    const keyEnd = skipValue(bytes, at, end);
    const isLikely = keyEnd - at === name.length + 2;
    const key = isLikely ? bytes.toString('latin1', at + 1, keyEnd - 1) : '';
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== COLON) break;
    at = skipSpace(bytes, at + 1);
    const valueEnd = skipValue(bytes, at, end);
    if (key === name) exact = [at, valueEnd];
    else if (key === capitalised) other = [at, valueEnd];
    at = skipSpace(bytes, valueEnd);
    if (bytes[at] !== COMMA) break;
  }
  return exact === null || isNull(bytes, exact) ? other : exact;
}

function integerKey(bytes: Buffer, [start, end]: Span): string | null {
  if (end - start > 20) return null;
  const text = bytes.toString('latin1', start, end);
  if (!INTEGER.test(text)) return null;
  const integer = BigInt(text);
  return BigInt.asIntN(64, integer) === integer ? String(integer) : null;
}

function textKey(bytes: Buffer, [start, end]: Span): string | null {
  const text = bytes.subarray(start, end);
  if (text[0] !== QUOTE || text.length > 6 * LONGEST_KEY_CHARACTERS + 2 || !isUtf8(text)) return null;
  try {
    return usableKey(String(JSON.parse(text.toString())).toWellFormed());
  } catch {
    return null;
  }
}

function isNull(bytes: Buffer, [start, end]: Span): boolean {
  return end - start === 4 && bytes.toString('latin1', start, end) === 'null';
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
  return at;
}

/**
 * Finds the end of a JSON value that is too long or too deep to decode. The skimmer follows brackets and strings, and
 * does not check the grammar. The value may come in several parts.
 */
export class ValueSkimmer {
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  begin(): void {
    this.#depth = 0;
    this.#inString = false;
    this.#isEscaped = false;
  }

  /** Reads the next part, from `start` to `end`. Returns the end of the value, or -1 if the value continues. */
  skim(bytes: Uint8Array, start: number, end: number): number {
    for (let at = start; at < end; at++) {
      const byte = bytes[at];
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) {
          this.#inString = false;
          if (this.#depth === 0) return at + 1;
        }
      } else if (byte === QUOTE) this.#inString = true;
      else if (opens(byte)) this.#depth += 1;
      else if (closes(byte)) {
        // No bracket of the value is open, so this bracket closes the object or array around the value.
        if (this.#depth === 0) return at;
        this.#depth -= 1;
        if (this.#depth === 0) return at + 1;
      } else if (this.#depth === 0 && separates(byte)) return at;
    }
    return -1;
  }
}

/** Skims a whole value; returns its end, or `end` if the value is incomplete. Exported for tests. */
export function skipValue(bytes: Uint8Array, start: number, end: number): number {
  const found = new ValueSkimmer().skim(bytes, start, end);
  return found < 0 ? end : found;
}

function opens(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET;
}

function closes(byte: number | undefined): boolean {
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}

function separates(byte: number | undefined): boolean {
  return byte === COMMA || byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
