import { type AskedPrices, PRICE_KINDS } from '../../config/price-kinds/all.ts';
import { ConnectorError } from '../../errors.ts';
import { avscType } from '../avro/avsc-type.ts';
import { recordDigest } from '../avro/record-digest.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import { readWireValue, WIRE_HEADER_BYTES } from '../avro/wire-format.ts';
import type { JsonValue } from '../json/json-value.ts';

export interface PricedInstrument {
  readonly instrumentId: string;
  readonly isin: string;
  /** The instrument's currency; null or absent if the instrument has no currency. */
  readonly currency?: string | null;
  readonly priceType?: string | null;
}

export interface DecodedPrice {
  readonly key: Buffer;
  readonly value: Buffer;
  /** The digest of the price with its instrument and request, without MOMENT_FIELDS; null for an overview. */
  readonly digest: bigint | null;
}

export function priceSchemaName(kind: AskedPrices['kind']) {
  return PRICE_KINDS[kind].schema;
}

export const MOMENT_FIELDS: readonly string[] = ['requestedAt', 'receivedAt'];

/** The price schema as text. Throws if its last fields are not MOMENT_FIELDS, because the decoder writes them last. */
export function priceSchema(kind: AskedPrices['kind']): string {
  const text = readSchemaText(priceSchemaName(kind));
  const last = fieldsOf(text).slice(-MOMENT_FIELDS.length);
  if (last.map(({ name }) => name).join() === MOMENT_FIELDS.join()) return text;
  throw new Error(`The last fields of ${priceSchemaName(kind)} must be ${MOMENT_FIELDS.join(' and ')}.`);
}

function priceContentsSchema(kind: AskedPrices['kind']): string {
  const text = priceSchema(kind);
  return JSON.stringify({ ...JSON.parse(text), fields: fieldsOf(text).slice(0, -MOMENT_FIELDS.length) });
}

function fieldsOf(schema: string): readonly { readonly name: string }[] {
  return JSON.parse(schema).fields;
}

export interface ItemHead {
  readonly isin: string | null;
  readonly isPriced: boolean;
  readonly type: string | null;
}

export type PriceItem =
  | {
      readonly kind: 'prices';
      /** One snapshot, or the windows of a series. If a window is sent again, the last version counts. */
      readonly records: readonly DecodedPrice[];
      /** Null for a series, and if the provider did not send the field. */
      readonly isQuotingPulled: boolean | null;
      readonly driftFields: number;
      readonly roundedNumbers: number;
    }
  | { readonly kind: 'problem'; readonly problem: JsonValue; readonly item: Buffer; readonly driftFields: number }
  /** A field has the wrong type; `pointer` leads from the item to the field. */
  | {
      readonly kind: 'unusable';
      readonly pointer: string;
      readonly reason: string;
      readonly item: Buffer;
      readonly driftFields: number;
    };

export interface PriceAnswerContext {
  readonly requestedAtMs: number;
  readonly receivedAtMs: number;
  /** The expected isin of the item at a position. If the item has this isin, the decoder creates no new string. */
  readonly isinAt: (position: number) => string | undefined;
  /** The instrument of an item; throws if the item does not match the request. `head`: null if it is not an object. */
  readonly instrumentOf: (position: number, head: ItemHead | null) => PricedInstrument;
}

/** Returns a function that computes the `digest` of a value; null if the value has another schema, so that it counts as changed. */
export function createPriceDigest(kind: AskedPrices['kind'], schemaId: number): (value: Buffer) => bigint | null {
  const contents = avscType(priceContentsSchema(kind));
  return (value) => {
    const { schemaId: id, body } = readWireValue(value);
    if (id !== schemaId) return null;
    return recordDigest(value.subarray(0, WIRE_HEADER_BYTES + endOf(contents, body)));
  };
}

function endOf(contents: ReturnType<typeof avscType>, body: Buffer): number {
  const unreadable = (cause?: unknown) =>
    new ConnectorError('RECORD_UNREADABLE', `A value holds ${body.length} bytes that are not a price.`, { cause });
  try {
    const { offset } = contents.decode(body, 0);
    if (offset >= 0) return offset;
  } catch (cause) {
    throw unreadable(cause);
  }
  throw unreadable();
}
