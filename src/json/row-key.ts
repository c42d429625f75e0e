import { isUtf8 } from 'node:buffer';
import { BYTES } from './json-bytes.ts';
import { skipValue } from './value-skip.ts';

/** Where a row has its key: the members on the way, in the schema's spelling, and the form of the key. */
export interface RowKey {
  readonly path: readonly string[];
  readonly form: 'integer' | 'text';
}

export const INSTRUMENT_KEY: RowKey = { path: ['id'], form: 'integer' };
export const EVENT_KEY: RowKey = { path: ['instrument', 'id'], form: 'integer' };
export const CHECK_KEY: RowKey = { path: ['preTradeCheckId'], form: 'text' };

/** Where a value begins, and where it ends. */
type Span = readonly [start: number, end: number];

const { QUOTE, COMMA, COLON, OPEN_BRACE } = BYTES;
const STEP_BYTES = 1024 * 1024;
/** Fewer characters than the least integer beyond 64 bits has. */
const LEAST_TOO_LONG = 19;
const INTEGER = /^-?(0|[1-9]\d{0,18})$/;
// Ids of checks that were seen have 14 characters; a key must leave room for the value.
const LONGEST_KEY_CHARACTERS = 512;

/**
 * The key of a row that cannot be read as a whole, because of its length, its depth or a byte that is not UTF-8. The row
 * is only skimmed, as `skipValue` does it; null where that finds no key. Stops after each MiB, so that other work gets
 * its turn.
 */
export function* skimKey(bytes: Buffer, row: Span, { path, form }: RowKey): Generator<void, string | null> {
  let at: Span | null = row;
  for (const name of path) {
    if (at === null) return null;
    at = yield* findMember(bytes, at, name);
  }
  if (at === null) return null;
  return form === 'integer' ? integerKey(bytes, at) : textKey(bytes, at);
}

/** A text that is to be a key; null when it is empty or too long for one. */
export function usableKey(id: string): string | null {
  return id !== '' && id.length <= LONGEST_KEY_CHARACTERS ? id : null;
}

/** Whether a text is the key of a row whose key is an integer: one of 64 bits, written in the one way that we write it. */
export function isIntegerKey(text: string): boolean {
  if (!INTEGER.test(text) || text === '-0') return false;
  return text.length < LEAST_TOO_LONG || BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

// The last member of this name; where it is missing or null, the last one with a capital first letter. As the mapping does.
function* findMember(bytes: Buffer, [start, end]: Span, name: string): Generator<void, Span | null> {
  if (bytes[start] !== OPEN_BRACE) return null;
  const capitalised = name.charAt(0).toUpperCase() + name.slice(1);
  let exact: Span | null = null;
  let other: Span | null = null;
  let stopAt = start + STEP_BYTES;
  for (let at = skipSpace(bytes, start + 1); at < end && bytes[at] === QUOTE; at = skipSpace(bytes, at + 1)) {
    if (at >= stopAt) {
      yield;
      stopAt = at + STEP_BYTES;
    }
    const keyEnd: number = yield* skipValue(bytes, at, end);
    const isLikely = keyEnd - at === name.length + 2;
    const key: string = isLikely ? bytes.toString('latin1', at + 1, keyEnd - 1) : '';
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== COLON) break;
    at = skipSpace(bytes, at + 1);
    const valueEnd: number = yield* skipValue(bytes, at, end);
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
  // A character has six bytes at most.
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
