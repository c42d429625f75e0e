// The plain way from JSON to Avro, by objects: the oracle of the tests of `src/records/decoding`.

import { isUtf8 } from 'node:buffer';
import type { AskedPrices } from '../../src/config/price-kinds/all.ts';
import { ConnectorError } from '../../src/errors.ts';
import { collectBytes } from '../../src/provider/http/body-chunks.ts';
import { createAssumedZone, dateText, instantText } from '../../src/records/avro/instant.ts';
import { recordDigest } from '../../src/records/avro/record-digest.ts';
import { type AvroRecord, type AvroValue, createRecordEncoder } from '../../src/records/avro/record-encoder.ts';
import { parseSchema } from '../../src/records/avro/schema.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import type { CheckDecoder, CheckDecoderOptions, DecodedCheck } from '../../src/records/decoding/check-decoder.ts';
import {
  type DecodedFailure,
  type DecodedList,
  type Flaw,
  failureOf,
  tooLong,
} from '../../src/records/decoding/decoded-list.ts';
import type { DecodedEvent, EventDecoder, EventDecoderOptions } from '../../src/records/decoding/event-decoder.ts';
import type { DecodedRow, PageDecoder, PageDecoderOptions } from '../../src/records/decoding/page-decoder.ts';
import type { PriceBodyDecoder, PriceBodyDecoderOptions } from '../../src/records/decoding/price-decoder.ts';
import {
  type DecodedPrice,
  type PriceAnswerContext,
  type PricedInstrument,
  type PriceItem,
  priceSchemaName,
} from '../../src/records/decoding/priced.ts';
import {
  describeJson,
  isArray,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  pointerStep,
  toJsonText,
} from '../../src/records/json/json-value.ts';
import {
  EVENT_KEY,
  INSTRUMENT_KEY,
  isIntegerKey,
  type RowKey,
  skimKey,
  skipValue,
  usableKey,
} from '../../src/records/json/row-key.ts';
import { type MappedRecord, Mapping, Mismatch, memberOf, sortedExtras } from './mapping.ts';

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

interface ListOptions<Row> {
  readonly listKey: string;
  readonly key: RowKey | null;
  readonly longestRowBytes?: number;
  readonly decodeRow: (element: JsonValue, raw: Buffer, position: number) => Row;
}

/** @throws ConnectorError BODY_MALFORMED */
async function readList<Row>(
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

export function createPageDecoder(options: PageDecoderOptions): PageDecoder {
  const encode = createRecordEncoder(options.schema, options.schemaId);
  const mapping = new Mapping(parseSchema(options.schema), options.onMismatch);
  const decodeRow = (row: JsonValue, raw: Buffer): DecodedRow => {
    const key = integerOf(memberOf(row, 'id'));
    const mapped = mapWith(mapping, row);
    if ('reason' in mapped) return failureOf(key, mapped, Buffer.from(raw));
    const { record, ...counts } = mapped;
    const value = encode(record);
    const flaw = tooLong(value, options);
    if (flaw !== null) return failureOf(key, flaw, Buffer.from(raw));
    const id = record.id as bigint;
    return { kind: 'record', key: String(id), id, isin: textOrNull(record.isin), value, ...counts };
  };
  const list = { listKey: options.listKey, key: INSTRUMENT_KEY, decodeRow };
  return { decode: (body) => readList<DecodedRow>(body, list) };
}

export function createEventDecoder(options: EventDecoderOptions): EventDecoder {
  const mapping = new Mapping(parseSchema(options.eventSchema), options.onMismatch);
  const instruments = createRecordEncoder(options.instrumentSchema, options.instrumentSchemaId);
  const events = createRecordEncoder(options.eventSchema, options.eventSchemaId);
  const decodeRow = (event: JsonValue, raw: Buffer): DecodedEvent => {
    const key = integerOf(memberOf(memberOf(event, 'instrument'), 'id'));
    const mapped = mapWith(mapping, event);
    if ('reason' in mapped) return failureOf(key, mapped, Buffer.from(raw));
    const { record, ...counts } = mapped;
    const instrument = record.instrument as AvroRecord;
    const [instrumentValue, eventValue] = [instruments(instrument), events(record)];
    const flaw = tooLong(eventValue, options);
    if (flaw !== null) return failureOf(key, flaw, Buffer.from(raw));
    const id = record.id as bigint;
    const names = {
      isin: textOrNull(instrument.isin),
      type: textOrNull(record.type),
      name: textOrNull(instrument.name),
    };
    const values = { eventValue, instrumentValue, digest: recordDigest(instrumentValue) };
    return { kind: 'event', key: String(id), id, ...names, ...values, ...counts };
  };
  return { decode: (body) => readList<DecodedEvent>(body, { listKey: 'events', key: EVENT_KEY, decodeRow }) };
}

/** A failure holds no bytes of a check. */
export function createCheckDecoder(options: CheckDecoderOptions): Pick<CheckDecoder, 'decode'> {
  const encode = createRecordEncoder(options.schema, options.schemaId);
  const mapping = new Mapping(parseSchema(options.schema), options.onMismatch);
  const failure = (key: string | null, flaw: Flaw) => failureOf(key, flaw, Buffer.alloc(0));
  const decodeRow = (check: JsonValue): DecodedCheck => {
    const id = memberOf(check, 'preTradeCheckId');
    const key = typeof id === 'string' ? usableKey(id.toWellFormed()) : null;
    const mapped = mapWith(mapping, check);
    if ('reason' in mapped) return failure(key, mapped);
    const noKey = {
      pointer: '/preTradeCheckId',
      reason: 'an id that is empty or too long to be a key',
      tooLarge: false,
    };
    if (key === null) return failure(null, noKey);
    const { record, ...counts } = mapped;
    const value = encode(record);
    const flaw = tooLong(value, options);
    return flaw ? failure(key, flaw) : { kind: 'record', key, isin: textOrNull(record.isin), value, ...counts };
  };
  return {
    async decode(body) {
      const key = { path: ['preTradeCheckId'], form: 'text' } as const;
      const decoded = await readList<DecodedCheck>(body, { listKey: 'preTradeChecks', key, decodeRow });
      return { ...decoded, rows: decoded.rows.map((row) => (row.kind === 'failure' ? failure(row.key, row) : row)) };
    },
  };
}

const OUR_MOMENTS = ['requestedAt', 'receivedAt'];
const MOST_WINDOWS = 10_000;
const LONGEST_ITEM_BYTES = 3 * 1024 * 1024;

export function createPriceDecoder(options: PriceBodyDecoderOptions): PriceBodyDecoder {
  const { asked, schemaId, onMismatch, assumedZone } = options;
  const { kind, ...parameters } = asked;
  const schema = JSON.parse(readSchemaText(priceSchemaName(kind)));
  const contents = { ...schema, fields: schema.fields.filter(({ name }: Named) => !OUR_MOMENTS.includes(name)) };
  const [encode, encodeContents] = [schema, contents].map((one) => createRecordEncoder(JSON.stringify(one), schemaId));
  const zone = assumedZone === null ? null : createAssumedZone(assumedZone);
  const mapping = new Mapping(parseSchema(JSON.stringify(schema)), onMismatch, zone);

  function decodePrice(json: JsonValue, beside: readonly Beside[], of: PricedInstrument, answer: PriceAnswerContext) {
    const mapped = mapWith(mapping, json);
    if ('reason' in mapped) return mapped;
    const { instrumentId, isin, currency = null, priceType = null } = of;
    const record: Record<string, AvroValue> = Object.assign(mapped.record, parameters, {
      instrumentId: BigInt(instrumentId),
      isin: isin.toWellFormed(),
      currency: currency?.toWellFormed() ?? null,
      priceType: priceType?.toWellFormed() ?? null,
      requestedAt: Math.round(answer.requestedAtMs),
      receivedAt: Math.round(answer.receivedAtMs),
    });
    if (beside.length > 0) {
      record.extras = sortedExtras([...(Object.entries(record.extras ?? {}) as [string, string][]), ...beside]);
    }
    const value = encode?.(record) ?? Buffer.alloc(0);
    const flaw = tooLong(value, options);
    if (flaw !== null) return flaw;
    const digest = kind === 'overview' ? null : recordDigest(encodeContents?.(record) ?? Buffer.alloc(0));
    const price: DecodedPrice = { key: Buffer.from(priceKey(asked, instrumentId, record)), value, digest };
    return { ...mapped, price };
  }

  function decodeSeries(response: JsonValue, of: PricedInstrument, answer: PriceAnswerContext): Outcome {
    const windows = memberOf(response, 'prices');
    const beside = besideOf(response as ReadonlyMap<string, JsonValue>, windows);
    const flaw = (reason: string) => ({ pointer: '/prices', reason });
    if (!isArray(windows)) return flaw(`found ${describeJson(windows)}, expected an array`);
    if (windows.length > MOST_WINDOWS) return flaw(`${windows.length} windows; at most ${MOST_WINDOWS} are read`);
    const records = new Map<string, DecodedPrice>();
    let driftFields = beside.length;
    let roundedNumbers = 0;
    for (const [index, window] of windows.entries()) {
      const decoded = decodePrice(window, beside, of, answer);
      if ('reason' in decoded) return { ...decoded, pointer: `/prices/${index}${decoded.pointer}` };
      // The last one of a window counts, in its place behind all others.
      const key = decoded.price.key.toString();
      records.delete(key);
      records.set(key, decoded.price);
      driftFields += decoded.driftFields;
      roundedNumbers += decoded.roundedNumbers;
    }
    return { kind: 'prices', records: [...records.values()], isQuotingPulled: null, driftFields, roundedNumbers };
  }

  function decodeSnapshot(response: JsonValue, of: PricedInstrument, answer: PriceAnswerContext): Outcome {
    const decoded = decodePrice(response, [], of, answer);
    if ('reason' in decoded) return decoded;
    const { price, record, driftFields, roundedNumbers } = decoded;
    const pulled = (record.lastPrice as AvroRecord | null)?.isQuotingPulled;
    const isQuotingPulled = typeof pulled === 'boolean' ? pulled : null;
    return { kind: 'prices', records: [price], isQuotingPulled, driftFields, roundedNumbers };
  }

  function decodeItem(item: JsonValue, raw: Buffer, at: number, answer: PriceAnswerContext): PriceItem {
    if (!(item instanceof Map)) throw new Error(`Accepted: ${answer.instrumentOf(at, null).isin}`);
    const member = (name: string, of: JsonValue = item) => (of instanceof Map ? (of.get(name) ?? null) : null);
    const [response, problem] = [member('response'), member('errorResponse')];
    const isPriced = response !== null && problem === null;
    const isin = textOrNull(member('isin', member('responseIdentifier')));
    const of = answer.instrumentOf(at, { isin, isPriced, type: textOrNull(member('$type', response)) });
    const unknown = [...item].filter(([name, value]) => value !== null && !ITEM_MEMBERS.includes(name)).length;
    const copy = Buffer.from(raw);
    if (!isPriced) return { kind: 'problem', problem, item: copy, driftFields: unknown };
    const outcome = (kind === 'overview' ? decodeSnapshot : decodeSeries)(response, of, answer);
    if (!('reason' in outcome)) return { ...outcome, driftFields: outcome.driftFields + unknown };
    const { pointer, reason } = outcome;
    return { kind: 'unusable', pointer: `/response${pointer}`, reason, item: copy, driftFields: unknown };
  }

  const list = { listKey: 'items', key: null, longestRowBytes: LONGEST_ITEM_BYTES };
  return {
    decode: (body, answer) =>
      readList<PriceItem>(body, { ...list, decodeRow: (item, raw, at) => decodeItem(item, raw, at, answer) }),
  };
}

const ITEM_MEMBERS = ['responseIdentifier', 'response', 'errorResponse'];
type Named = { readonly name: string };
type Beside = readonly [pointer: string, text: string];
type Outcome = Extract<PriceItem, { kind: 'prices' }> | Pick<Flaw, 'pointer' | 'reason'>;

function priceKey(asked: AskedPrices, instrumentId: string, record: AvroRecord): string {
  if (asked.kind === 'overview') return instrumentId;
  if (asked.kind === 'daily') return `${instrumentId}/${asked.fields}/${dateText(record.date as number)}`;
  return `${instrumentId}/${asked.interval}/${asked.fields}/${instantText(record.windowOpenTimestamp as number)}`;
}

/** The members of a series beside its list: each of its windows keeps them. */
function besideOf(response: ReadonlyMap<string, JsonValue>, windows: JsonValue): readonly Beside[] {
  return [...response].flatMap(([name, member]) => {
    const isKnown = name === '$type' || name === 'prices' || (name === 'Prices' && windows === member);
    return isKnown || member === null ? [] : [[`/..${pointerStep(name)}`, toJsonText(member)] as const];
  });
}

function mapWith(mapping: Mapping, value: JsonValue): MappedRecord | Flaw {
  try {
    return mapping.map(value);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    return { pointer: error.pointer, reason: error.reason, tooLarge: false };
  }
}

/** The text of a 64-bit integer; null for any other value. */
function integerOf(value: JsonValue): string | null {
  if (!(value instanceof JsonNumber) || !/^-?\d{1,19}$/.test(value.text)) return null;
  const text = String(BigInt(value.text));
  return isIntegerKey(text) ? text : null;
}

function textOrNull(value: AvroValue | JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
