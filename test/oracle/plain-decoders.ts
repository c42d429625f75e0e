// The plain way from JSON to Avro, by objects: the oracle of the tests of `src/records/decoding`.

import type { AskedPrices } from '../../src/config/price-kinds/all.ts';
import { createAssumedZone, dateText, instantText } from '../../src/records/avro/instant.ts';
import { recordDigest } from '../../src/records/avro/record-digest.ts';
import { type AvroRecord, type AvroValue, createRecordEncoder } from '../../src/records/avro/record-encoder.ts';
import { parseSchema } from '../../src/records/avro/schema.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import type { CheckDecoder, CheckDecoderOptions, DecodedCheck } from '../../src/records/decoding/check-decoder.ts';
import { type Flaw, failureOf, tooLong } from '../../src/records/decoding/decoded-list.ts';
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
  type JsonValue,
  pointerStep,
  toJsonText,
} from '../../src/records/json/json-value.ts';
import { EVENT_KEY, INSTRUMENT_KEY, isIntegerKey, usableKey } from '../../src/records/json/row-key.ts';
import { readList } from './json-reader.ts';
import { type MappedRecord, Mapping, Mismatch, memberOf, sortedExtras } from './mapping.ts';

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
