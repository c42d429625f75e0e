// Decodes a body with one list of rows. A truncated or malformed body gives no rows: the whole body is checked first.

import { isUtf8 } from 'node:buffer';
import { setImmediate as afterOtherWork } from 'node:timers/promises';
import { BYTES } from '../json/json-bytes.ts';
import { assertUtf8, CUT, DEEPEST_NESTING, malformed, TOO_DEEP } from '../json/json-scanner.ts';
import { describeJson, type JsonValue } from '../json/json-value.ts';
import { type RowKey, skimKey, ValueSkimmer } from '../json/row-key.ts';
import {
  type DecodedFailure,
  type DecodedList,
  failureOf,
  type RecordOptions,
  type RowDecoder,
  USUAL_SIZES,
} from './decoded-list.ts';
import type { ValuePlan } from './plan.ts';
import { RowReader } from './row-reader.ts';

const LONGEST_VALUE_BYTES = 512 * 1024;

const MOST_ROWS = 100_000;
const { COMMA, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET } = BYTES;

const START = 0;
const MEMBER = 1;
const ROW = 2;
const LONG_ROW = 3;
const BEHIND_ROW = 4;
const BEHIND_MEMBER = 5;
const END = 6;

interface ListDecoderOptions<Row, Context> extends Pick<RecordOptions, 'clock' | 'sizes'> {
  readonly listKey: string;
  readonly plan: ValuePlan;
  readonly rowDecoder: (reader: RowReader) => RowDecoder<Row | DecodedFailure, Context>;
  /** The path to the key of a row, for rows that cannot be decoded; null if rows have no key. */
  readonly key: RowKey | null;
  readonly longestRowBytes?: number;
}

// Reads a body in *units*: the opening brace, a member outside the list, one row. If the input ends within a unit, the
// unit is read again when twice as much input has arrived. A row that is too long or too deep is not decoded; the
// decoder only finds its end. Such a row, or a row with invalid UTF-8, becomes a failure. The other rows stay usable.
class BodyDecoder<Row, Context> {
  readonly #options: ListDecoderOptions<Row, Context>;
  readonly #bufferBytes: number;
  readonly #reader: RowReader;
  readonly #rowDecoder: RowDecoder<Row | DecodedFailure, Context>;
  readonly #longestRowBytes: number;
  readonly #skimmer = new ValueSkimmer();
  #context: Context | null = null;
  #rows: (Row | DecodedFailure)[] = [];
  #envelope = new Map<string, JsonValue>();
  #hasList = false;
  #duplicateKeys = 0;
  #bodyBytes = 0;
  #state = START;
  // The start of the next unit in the reader's bytes. `#enough`: the unit is read when this many bytes have arrived.
  #position = 1;
  #enough = 0;
  #skimmedTo = 0;
  #tooDeep = false;

  constructor(options: ListDecoderOptions<Row, Context>) {
    const { sizes = USUAL_SIZES, longestRowBytes = LONGEST_VALUE_BYTES } = options;
    this.#options = options;
    this.#bufferBytes = sizes.buffer;
    this.#longestRowBytes = longestRowBytes;
    this.#reader = new RowReader(sizes.buffer);
    this.#rowDecoder = options.rowDecoder(this.#reader);
  }

  begin(context: Context): void {
    this.#reader.reset(this.#bufferBytes);
    this.#context = context;
    this.#rows = [];
    this.#envelope = new Map();
    this.#hasList = false;
    this.#duplicateKeys = 0;
    this.#bodyBytes = 0;
    this.#state = START;
    this.#position = 1;
    this.#enough = 0;
  }

  push(piece: Uint8Array): void {
    const { json } = this.#reader;
    const moved = json.append(piece, this.#position);
    this.#position -= moved;
    this.#skimmedTo -= moved;
    this.#bodyBytes += piece.length;
    if (json.end - this.#position >= this.#enough) this.#goOn();
  }

  end(): void {
    const { json } = this.#reader;
    json.ended = true;
    this.#goOn();
    if (this.#state !== END) json.fail(this.#position, 'the end of the text');
    if (!this.#hasList) throw malformed(`has no "${this.#options.listKey}"`);
  }

  result(): DecodedList<Row | DecodedFailure> {
    const rows = this.#rows;
    this.#rows = [];
    return { rows, envelope: this.#envelope, bytes: this.#bodyBytes, duplicateKeys: this.#duplicateKeys };
  }

  #goOn(): void {
    const { json } = this.#reader;
    try {
      for (;;) {
        const start = json.space(this.#position);
        this.#position = start;
        if (this.#state === END && start >= json.end) return;
        this.#position = this.#readUnit(start);
      }
    } catch (error) {
      if (error !== CUT) throw error;
      const waiting = json.end - this.#position;
      this.#assertShortMember(waiting);
      this.#enough = this.#state === LONG_ROW ? 0 : 2 * waiting;
    }
  }

  #readUnit(start: number): number {
    const { json } = this.#reader;
    const c = json.bytes[start];
    switch (this.#state) {
      case START:
        if (c !== OPEN_BRACE) json.fail(start, 'an object');
        return this.#firstMember(start + 1);
      case MEMBER:
        return this.#readMember(start);
      case ROW:
        return this.#readRow(start);
      case LONG_ROW:
        return this.#skimRow(start);
      case BEHIND_ROW:
        if (c !== COMMA && c !== CLOSE_BRACKET) json.fail(start, 'a comma or the end of the array');
        this.#state = c === COMMA ? ROW : BEHIND_MEMBER;
        return start + 1;
      case BEHIND_MEMBER:
        if (c !== COMMA && c !== CLOSE_BRACE) json.fail(start, 'a comma or the end of the object');
        this.#state = c === COMMA ? MEMBER : END;
        return start + 1;
      default:
        return json.fail(start, 'the end of the text');
    }
  }

  #firstMember(at: number): number {
    const { json } = this.#reader;
    const i = json.space(at);
    if (i >= json.end) json.fail(i, 'a key in quotes');
    const isEmpty = json.bytes[i] === CLOSE_BRACE;
    this.#state = isEmpty ? END : MEMBER;
    return isEmpty ? i + 1 : i;
  }

  #readMember(start: number): number {
    const { json } = this.#reader;
    const { listKey } = this.#options;
    const keyEnd = json.key(start);
    const key = json.text(start, keyEnd);
    const at = json.colon(Math.abs(keyEnd));
    if (at >= json.end) json.fail(at, 'a value');
    if (key === listKey && json.bytes[at] === OPEN_BRACKET) {
      const first = json.space(at + 1);
      if (first >= json.end) json.fail(first, 'a value');
      if (this.#hasList) this.#duplicateKeys += 1;
      this.#hasList = true;
      this.#rows = [];
      const isEmpty = json.bytes[first] === CLOSE_BRACKET;
      this.#state = isEmpty ? BEHIND_MEMBER : ROW;
      return isEmpty ? first + 1 : first;
    }
    const duplicatesBefore = json.duplicateKeys;
    const end = this.#readWhole(at);
    // A number may continue in the next chunk.
    const next = json.space(end);
    if (next >= json.end) json.fail(next, 'a comma or the end of the object');
    this.#assertShortMember(end - at);
    const value = json.value(at, end);
    if (key === listKey) throw malformed(`has ${describeJson(value)} as "${listKey}"; expected an array`);
    assertUtf8(json.bytes.subarray(start, end), start + json.offset);
    if (this.#envelope.has(key)) this.#duplicateKeys += 1;
    this.#duplicateKeys += json.duplicateKeys - duplicatesBefore;
    this.#envelope.set(key, value);
    this.#state = BEHIND_MEMBER;
    return next;
  }

  #readWhole(at: number): number {
    try {
      return this.#reader.json.skip(at, 1);
    } catch (error) {
      if (error !== TOO_DEEP) throw error;
      throw malformed(`has nesting deeper than ${DEEPEST_NESTING} in a member outside the list`);
    }
  }

  #assertShortMember(bytes: number): void {
    if (this.#state !== MEMBER || bytes <= LONGEST_VALUE_BYTES) return;
    throw malformed(`has more than ${LONGEST_VALUE_BYTES} bytes in a member outside the list`);
  }

  #readRow(start: number): number {
    const { json } = this.#reader;
    if (this.#rows.length === MOST_ROWS)
      throw malformed(`has more than ${MOST_ROWS} rows in "${this.#options.listKey}"`);
    let end: number;
    try {
      end = this.#reader.readRow(this.#options.plan, start, 2);
      const next = json.space(end);
      if (next >= json.end && !json.ended) throw CUT;
      if (end - start > this.#longestRowBytes) return this.#beginLongRow(start, false);
    } catch (error) {
      const { flawAt, end: inputEnd } = json;
      const at = error === CUT ? inputEnd : flawAt;
      if (at - start > this.#longestRowBytes) return this.#beginLongRow(start, false);
      if (error === TOO_DEEP) return this.#beginLongRow(start, true);
      throw error;
    }
    this.#rows.push(this.#completeRow(start, end));
    this.#state = BEHIND_ROW;
    return end;
  }

  #completeRow(start: number, end: number): Row | DecodedFailure {
    const { json } = this.#reader;
    if (start < json.asciiFrom && !isUtf8(json.bytes.subarray(start, end))) {
      return this.#skimmedRow('a byte that is not UTF-8', this.#reader.copy(start, end));
    }
    this.#duplicateKeys += json.duplicateKeys;
    return this.#rowDecoder(start, end, this.#rows.length, this.#context as Context);
  }

  #beginLongRow(start: number, tooDeep: boolean): number {
    this.#state = LONG_ROW;
    this.#tooDeep = tooDeep;
    this.#skimmer.begin();
    this.#skimmedTo = start;
    return start;
  }

  #skimRow(start: number): number {
    const { json } = this.#reader;
    let end = this.#skimmer.skim(json.bytes, this.#skimmedTo, json.end);
    this.#skimmedTo = json.end;
    if (end < 0) {
      if (!json.ended) throw CUT;
      end = json.end;
    }
    const raw = this.#reader.copy(start, end);
    const long = `a row of ${raw.length} bytes; at most ${this.#longestRowBytes} are read`;
    const deep = `nesting deeper than ${DEEPEST_NESTING}`;
    this.#rows.push(this.#skimmedRow(this.#tooDeep ? deep : long, raw, !this.#tooDeep));
    this.#state = BEHIND_ROW;
    return end;
  }

  #skimmedRow(reason: string, raw: Buffer, tooLarge = false): DecodedFailure {
    const { key } = this.#options;
    return failureOf(key === null ? null : skimKey(raw, key), { pointer: '', reason, tooLarge }, raw);
  }
}

const LONGEST_TURN_MS = 2;

export class ListDecoder<Row, Context> {
  readonly #options: ListDecoderOptions<Row, Context>;
  // Decoders are reused, so that the engine keeps their compiled code.
  readonly #idle: BodyDecoder<Row, Context>[] = [];

  constructor(options: ListDecoderOptions<Row, Context>) {
    this.#options = options;
  }

  /** @throws ConnectorError BODY_MALFORMED if the body as a whole cannot be decoded */
  async decode(body: AsyncIterable<Uint8Array>, context: Context): Promise<DecodedList<Row | DecodedFailure>> {
    const { clock, sizes = USUAL_SIZES } = this.#options;
    const decoder = this.#idle.pop() ?? new BodyDecoder(this.#options);
    decoder.begin(context);
    let turnStartedMs = clock.monotonicMs();
    for await (const chunk of body) {
      for (let at = 0; at < chunk.length; at += sizes.piece) {
        decoder.push(chunk.subarray(at, at + sizes.piece));
        if (clock.monotonicMs() - turnStartedMs < LONGEST_TURN_MS) continue;
        await afterOtherWork();
        turnStartedMs = clock.monotonicMs();
      }
    }
    decoder.end();
    const decoded = decoder.result();
    this.#idle.push(decoder);
    return decoded;
  }
}
