// The plain way from JSON to Avro, by objects: the oracle of the tests of `src/records/decoding`.

import { isUtf8 } from 'node:buffer';
import { ConnectorError } from '../../src/errors.ts';
import { collectBytes } from '../../src/provider/http/body-chunks.ts';
import { type DecodedFailure, type DecodedList, failureOf } from '../../src/records/decoding/decoded-list.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../../src/records/json/json-value.ts';
import { type RowKey, skimKey, skipValue } from '../../src/records/json/row-key.ts';

// Without the closing quote: the flaw of a string is where this ends.
const STRING = /"[ !#-[\]-\xff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\xff]*)*/y;
const OTHER = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
const DEEPEST = 64;
const LONGEST_VALUE_BYTES = 512 * 1024;

/** JSON (RFC 8259) from bytes. Of equal keys the last one counts. */
class JsonReader {
  at = 0;
  duplicateKeys = 0;
  readonly #bytes: Buffer;
  /** A character for each byte. */
  readonly #text: string;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#text = bytes.toString('latin1');
  }

  /** The character behind white space; empty at the end. */
  next(): string {
    this.#take(SPACE);
    return this.#text.charAt(this.at);
  }

  expect(character: string): void {
    if (this.next() !== character) this.fail();
    this.at += 1;
  }

  /** Reads all that stands between two brackets, separated by commas. */
  between([open = '', close = '']: string, readOne: () => void): void {
    this.expect(open);
    if (this.next() !== close) {
      for (readOne(); this.next() === ','; readOne()) this.at += 1;
    }
    this.expect(close);
  }

  key(): string {
    if (this.next() !== '"') this.fail();
    const key = this.#string();
    this.expect(':');
    return key;
  }

  /** @param depth how many objects and arrays stand around the value */
  value(depth: number): JsonValue {
    const first = this.next();
    if (first === '"') return this.#string();
    if (first !== '{' && first !== '[') return this.#other();
    if (depth === DEEPEST) this.fail(true);
    return first === '{' ? this.#object(depth + 1) : this.#array(depth + 1);
  }

  fail(tooDeep = false): never {
    throw new ConnectorError('BODY_MALFORMED', 'no JSON', { fields: { byte: this.at, tooDeep } });
  }

  #object(depth: number): JsonObject {
    const members = new Map<string, JsonValue>();
    this.between('{}', () => {
      const key = this.key();
      const value = this.value(depth);
      if (members.has(key)) this.duplicateKeys += 1;
      members.set(key, value);
    });
    return members;
  }

  #array(depth: number): readonly JsonValue[] {
    const elements: JsonValue[] = [];
    this.between('[]', () => elements.push(this.value(depth)));
    return elements;
  }

  #string(): string {
    const { at: start } = this;
    this.#take(STRING);
    if (this.#text.charAt(this.at) !== '"') this.fail();
    this.at += 1;
    return JSON.parse(this.#bytes.toString('utf8', start, this.at));
  }

  #other(): JsonValue {
    const text = this.#take(OTHER);
    if (text === '') this.fail();
    return /^[tfn]/.test(text) ? JSON.parse(text) : new JsonNumber(text);
  }

  #take(expression: RegExp): string {
    expression.lastIndex = this.at;
    const [text] = expression.exec(this.#text) ?? [''];
    this.at += text.length;
    return text;
  }
}

export interface ListOptions<Row> {
  readonly listKey: string;
  readonly key: RowKey | null;
  readonly longestRowBytes?: number;
  readonly decodeRow: (element: JsonValue, raw: Buffer, position: number) => Row;
}

/** @throws ConnectorError BODY_MALFORMED */
export async function readList<Row>(
  body: AsyncIterable<Uint8Array>,
  { listKey, key: rowKey, longestRowBytes = LONGEST_VALUE_BYTES, decodeRow }: ListOptions<Row>,
): Promise<DecodedList<Row | DecodedFailure>> {
  const bytes = await collectBytes(body);
  const json = new JsonReader(bytes);
  const envelope = new Map<string, JsonValue>();
  const lists: (Row | DecodedFailure)[][] = [];

  /** A row that is not read as a whole: why, and whether its length is the reason. */
  function unreadRow(start: number, reason: string, tooLarge = false): DecodedFailure {
    if (tooLarge || reason.startsWith('nesting')) json.at = skipValue(bytes, start, bytes.length);
    const raw = Buffer.from(bytes.subarray(start, json.at));
    const long = `a row of ${raw.length} bytes; at most ${longestRowBytes} are read`;
    const flaw = { pointer: '', reason: tooLarge ? long : reason, tooLarge };
    return failureOf(rowKey === null ? null : skimKey(raw, rowKey), flaw, raw);
  }

  function readRow(position: number): Row | DecodedFailure {
    json.next();
    const { at: start, duplicateKeys } = json;
    const unread = (reason: string, tooLarge?: boolean) => {
      json.duplicateKeys = duplicateKeys;
      return unreadRow(start, reason, tooLarge);
    };
    let element: JsonValue;
    try {
      element = json.value(2);
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      if (Number(error.fields.byte) - start > longestRowBytes) return unread('', true);
      if (error.fields.tooDeep) return unread(`nesting deeper than ${DEEPEST}`);
      throw error;
    }
    const raw = bytes.subarray(start, json.at);
    if (raw.length > longestRowBytes) return unread('', true);
    return isUtf8(raw) ? decodeRow(element, raw, position) : unread('a byte that is not UTF-8');
  }

  json.between('{}', () => {
    json.next();
    const { at: start } = json;
    const key = json.key();
    if (key === listKey ? lists.length > 0 : envelope.has(key)) json.duplicateKeys += 1;
    json.next();
    const { at: valueStart } = json;
    if (key === listKey) {
      const read: (Row | DecodedFailure)[] = [];
      json.between('[]', () => read.push(readRow(read.length)));
      lists.push(read);
      return;
    }
    envelope.set(key, json.value(1));
    if (json.at - valueStart > LONGEST_VALUE_BYTES || !isUtf8(bytes.subarray(start, json.at))) json.fail();
  });
  const rows = lists.at(-1);
  if (json.next() !== '' || rows === undefined) return json.fail();
  return { rows, envelope, bytes: bytes.length, duplicateKeys: json.duplicateKeys };
}
