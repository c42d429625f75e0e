// What bulk calls request, and what a price becomes.

import { readSchemaText } from '../avro/schema-files.ts';
import { type AskedPrices, PRICE_KINDS } from '../config/price-kinds/all.ts';

/** What a price belongs to: it is not sent with it. */
export interface PricedInstrument {
  /** Decimal digits. */
  readonly instrumentId: string;
  readonly isin: string;
  /** Of the instrument; null, or left out, where it has none. */
  readonly currency?: string | null;
  readonly priceType?: string | null;
}

export interface DecodedPrice {
  readonly key: Buffer;
  /** Confluent's wire format. */
  readonly value: Buffer;
  /** Of the sent content with its instrument and request, without our two moments; null for an overview. */
  readonly digest: bigint | null;
}

/** The schema of the records of a kind. */
export function priceSchemaName(kind: AskedPrices['kind']) {
  return PRICE_KINDS[kind].schema;
}

/** The last fields of a record of prices: when the provider was asked, and when it answered. */
export const MOMENT_FIELDS: readonly string[] = ['requestedAt', 'receivedAt'];

/** The text of that schema. The two moments come last: they are written behind what the provider sent. */
export function priceSchema(kind: AskedPrices['kind']): string {
  const text = readSchemaText(priceSchemaName(kind));
  const last = fieldsOf(text).slice(-MOMENT_FIELDS.length);
  if (last.map(({ name }) => name).join() === MOMENT_FIELDS.join()) return text;
  throw new Error(`The last fields of ${priceSchemaName(kind)} are ${MOMENT_FIELDS.join(' and ')}.`);
}

/** The schema of what the provider sent: that of a record without its two moments. */
export function priceContentsSchema(kind: AskedPrices['kind']): string {
  const text = priceSchema(kind);
  return JSON.stringify({ ...JSON.parse(text), fields: fieldsOf(text).slice(0, -MOMENT_FIELDS.length) });
}

function fieldsOf(schema: string): readonly { readonly name: string }[] {
  return JSON.parse(schema).fields;
}
