// The plain way from JSON to Avro, by objects. At run time `src/records/decoding` does it; this is the oracle of its tests.

import type { AskedPrices } from '../../src/config/price-kinds/all.ts';
import { createAssumedZone, dateText, instantText } from '../../src/records/avro/instant.ts';
import { recordDigest } from '../../src/records/avro/record-digest.ts';
import type { AvroRecord, AvroValue } from '../../src/records/avro/record-encoder.ts';
import { createRecordEncoder } from '../../src/records/avro/record-encoder.ts';
import { parseSchema } from '../../src/records/avro/schema.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import { WIRE_HEADER_BYTES } from '../../src/records/avro/wire-format.ts';
import type { OnMismatch } from '../../src/records/decoding/decoded-list.ts';
import { type DecodedPrice, type PricedInstrument, priceSchemaName } from '../../src/records/decoding/priced.ts';
import type { JsonValue } from '../../src/records/json/json-value.ts';
import { describeJson, isArray, pointerStep, toJsonText } from '../../src/records/json/json-value.ts';
import { Mapping } from './mapping.ts';

export type DecodedPrices =
  | {
      readonly kind: 'prices';
      /** One snapshot, or the windows of a series; of a window that is sent twice the last one counts. */
      readonly records: readonly DecodedPrice[];
      /** Null for series, and when it was not reported. */
      readonly isQuotingPulled: boolean | null;
      /** Fields that the schema does not know, kept in extras. */
      readonly driftFields: number;
      /** Numbers and instants that were rounded in their field and kept verbatim in extras. */
      readonly roundedNumbers: number;
    }
  /** A JSON pointer from the response, in the schema's spelling; the reason never quotes a value. */
  | { readonly kind: 'failure'; readonly pointer: string; readonly reason: string };

/** The records of one bulk request: they share their two moments. */
export interface PriceDecoder {
  /** @param response a typed response whose $type has been looked at */
  decode(response: JsonValue, of: PricedInstrument): DecodedPrices;
}

export interface PriceDecoderOptions {
  readonly asked: AskedPrices;
  /** The id in the registry of the schema that `priceSchemaName` names. */
  readonly schemaId: number;
  readonly onMismatch: OnMismatch;
  /** The zone of instants that are sent without one, by its name; null: they are of the wrong type. */
  readonly assumedZone: string | null;
  /** The longest value, header included, that the topic takes; a longer one is a failure. No limit when absent. */
  readonly maxValueBytes?: number;
}

const OUR_FIELDS = ['requestedAt', 'receivedAt'];
// A year of days has 366, a year of hours 8,784.
const MOST_WINDOWS = 10_000;

/** Made once for each kind, then `at` for each answer: times in milliseconds since the epoch, by our clock. */
export function createPriceDecoders(options: PriceDecoderOptions): {
  at(requestedAtMs: number, receivedAtMs: number): PriceDecoder;
} {
  const { asked, schemaId, onMismatch, assumedZone, maxValueBytes = Number.POSITIVE_INFINITY } = options;
  const schema = readSchemaText(priceSchemaName(asked.kind));
  const { contents, moments } = schemaParts(schema);
  const zone = assumedZone === null ? null : createAssumedZone(assumedZone);
  const mapping = new Mapping(parseSchema(schema), onMismatch, zone);
  const encode = createRecordEncoder(contents, schemaId);
  const encodeMoments = createRecordEncoder(moments, schemaId);
  const { kind: _, ...parameters } = asked;

  interface Part {
    readonly json: JsonValue;
    /** Where it stands in the response. */
    readonly pointer: string;
    /** What stood beside the list that it was in. */
    readonly beside: readonly (readonly [pointer: string, text: string])[];
  }

  function decodePart({ json, pointer, beside }: Part, of: PricedInstrument, tail: Buffer) {
    const mapped = mapping.map(json);
    if (mapped.kind === 'failure') return failure(pointer + mapped.pointer, mapped.reason);
    const { driftFields, roundedNumbers } = mapped;
    const { currency = null, priceType = null } = of;
    const terms = { currency: currency?.toWellFormed() ?? null, priceType: priceType?.toWellFormed() ?? null };
    const given = { instrumentId: BigInt(of.instrumentId), isin: of.isin.toWellFormed(), ...terms, ...parameters };
    const record: Record<string, AvroValue> = Object.assign(mapped.record, given);
    if (beside.length > 0) record.extras = withExtras(record.extras as AvroRecord | null, beside);
    const content = encode(record);
    const length = content.length + tail.length;
    if (length > maxValueBytes)
      return failure(pointer, `a value of ${length} bytes; the topic takes at most ${maxValueBytes}`);
    const key = priceKey(asked, of.instrumentId, record);
    const price: DecodedPrice = {
      key: Buffer.from(key),
      value: Buffer.concat([content, tail], length),
      digest: asked.kind === 'overview' ? null : recordDigest(content),
    };
    return { kind: 'price' as const, key, price, record, driftFields, roundedNumbers };
  }

  function decodeSeries(response: JsonValue, of: PricedInstrument, tail: Buffer): DecodedPrices {
    const { windows, beside } = partsOfSeries(response);
    if (windows === null || !isArray(windows))
      return failure('/prices', `found ${describeJson(windows)}, expected an array`);
    if (windows.length > MOST_WINDOWS) {
      return failure('/prices', `${windows.length} windows; at most ${MOST_WINDOWS} are read`);
    }
    const records = new Map<string, DecodedPrice>();
    let driftFields = beside.length;
    let roundedNumbers = 0;
    for (const [index, json] of windows.entries()) {
      const decoded = decodePart({ json, pointer: `/prices/${index}`, beside }, of, tail);
      if (decoded.kind === 'failure') return decoded;
      // The last one stands where it was sent, behind all others.
      records.delete(decoded.key);
      records.set(decoded.key, decoded.price);
      driftFields += decoded.driftFields;
      roundedNumbers += decoded.roundedNumbers;
    }
    return { kind: 'prices', records: [...records.values()], isQuotingPulled: null, driftFields, roundedNumbers };
  }

  return {
    at(requestedAtMs, receivedAtMs) {
      const whole = encodeMoments({
        requestedAt: Math.round(requestedAtMs),
        receivedAt: Math.round(receivedAtMs),
      });
      const tail = whole.subarray(WIRE_HEADER_BYTES);
      return {
        decode(response, of) {
          if (asked.kind !== 'overview') return decodeSeries(response, of, tail);
          const decoded = decodePart({ json: response, pointer: '', beside: [] }, of, tail);
          if (decoded.kind === 'failure') return decoded;
          const { price, record, driftFields, roundedNumbers } = decoded;
          const isQuotingPulled = quotingPulled(record.lastPrice ?? null);
          return { kind: 'prices', records: [price], isQuotingPulled, driftFields, roundedNumbers };
        },
      };
    },
  };
}

/**
 * The schema in two: what was sent, and our two moments behind it. A record is the bytes of its fields one after the
 * other, so the bytes of the moments are made once for an answer, and those before them report what has changed.
 */
function schemaParts(schema: string): { readonly contents: string; readonly moments: string } {
  const { fields, ...record } = JSON.parse(schema) as { readonly fields: readonly { readonly name: string }[] };
  const ours = fields.slice(-OUR_FIELDS.length);
  if (ours.map(({ name }) => name).join() !== OUR_FIELDS.join()) {
    throw new Error(`The last fields of a price are ${OUR_FIELDS.join(' and ')}.`);
  }
  return {
    contents: JSON.stringify({ ...record, fields: fields.slice(0, -OUR_FIELDS.length) }),
    moments: JSON.stringify({ ...record, fields: ours }),
  };
}

function priceKey(asked: AskedPrices, instrumentId: string, record: AvroRecord): string {
  switch (asked.kind) {
    case 'overview':
      return instrumentId;
    case 'daily':
      return `${instrumentId}/${asked.fields}/${dateText(record.date as number)}`;
    case 'intraday':
      return `${instrumentId}/${asked.interval}/${asked.fields}/${instantText(record.windowOpenTimestamp as number)}`;
  }
}

// A series allows nothing beside its list; what comes all the same is kept with each of its windows.
function partsOfSeries(response: JsonValue) {
  if (!(response instanceof Map)) return { windows: null, beside: [] };
  const windows: JsonValue = response.get('prices') ?? response.get('Prices') ?? null;
  const beside: (readonly [string, string])[] = [];
  for (const [name, member] of response) {
    if (name === '$type' || name === 'prices' || (name === 'Prices' && windows === member) || member === null) continue;
    beside.push([`/..${pointerStep(name)}`, toJsonText(member)]);
  }
  return { windows, beside };
}

function withExtras(extras: AvroRecord | null, more: readonly (readonly [string, string])[]): AvroRecord {
  const all = [...Object.entries(extras ?? {}), ...more] as [string, string][];
  return Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function quotingPulled(lastPrice: AvroValue): boolean | null {
  const reported = (lastPrice as AvroRecord | null)?.isQuotingPulled ?? null;
  return typeof reported === 'boolean' ? reported : null;
}

function failure(pointer: string, reason: string) {
  return { kind: 'failure' as const, pointer, reason };
}
