// The plain way from JSON to Avro, by objects. At run time `src/records/decoding` does it; this is the oracle of its tests.

import { encodeDecimal } from '../../src/records/avro/decimal.ts';
import type { AssumedZone } from '../../src/records/avro/instant.ts';
import { epochDays, localEpochMs, parseInstant } from '../../src/records/avro/instant.ts';
import type { ScalarValue } from '../../src/records/avro/record-encoder.ts';
import type { ScalarNode } from '../../src/records/avro/schema.ts';
import { describeJson, JsonNumber, type JsonValue, toJsonText } from '../../src/records/json/json-value.ts';

/** What became of a leaf: its value, or why it has none. */
export type ScalarOutcome =
  | { readonly kind: 'value'; readonly value: ScalarValue; readonly exact: 'exact' | 'rounded' | 'mendedText' }
  | { readonly kind: 'mismatch'; readonly reason: string };

export type ScalarMapper = (value: JsonValue) => ScalarOutcome;

const PLAIN_INTEGER = /^-?\d{1,19}$/;
const LARGEST_LONG = 2n ** 63n - 1n;
const LARGEST_INT = 2n ** 31n - 1n;

/**
 * How JSON becomes a leaf of this kind. Reasons never quote a value.
 * @param assumedZone the zone of instants without one; null: they are of the wrong type
 */
export function scalarMapper(node: ScalarNode, assumedZone: AssumedZone | null): ScalarMapper {
  if (node.logical === null) return plainMapper(node);
  if (node.logical.name === 'decimal') return decimalMapper(node.logical);
  if (node.logical.name === 'date') return textMapper('a date YYYY-MM-DD', epochDays);
  if (node.logical.name === 'local-timestamp-millis') {
    return textMapper('a date-time YYYY-MM-DD HH:MM:SS', localEpochMs);
  }
  if (node.logical.name === 'timestamp-micros') return instantMapper(assumedZone);
  throw new Error('The provider sends no instants in milliseconds.');
}

/** For what has no shape that is known: any value, as its JSON text. */
export function jsonTextMapper(): ScalarMapper {
  return (value) => exact(toJsonText(value));
}

function plainMapper(node: ScalarNode): ScalarMapper {
  if (node.avro === 'string') return mapString;
  if (node.avro === 'boolean') {
    return (value) => (typeof value === 'boolean' ? exact(value) : mismatch(describeJson(value), 'a boolean'));
  }
  if (node.avro === 'long') return integerMapper('a 64-bit integer', LARGEST_LONG, (integer) => integer);
  if (node.avro === 'int') return integerMapper('a 32-bit integer', LARGEST_INT, Number);
  throw new Error('Plain bytes have no form in JSON.');
}

// A lone surrogate is no character and has no UTF-8: the field gets U+FFFD and the text as sent is kept elsewhere.
function mapString(value: JsonValue): ScalarOutcome {
  if (typeof value !== 'string') return mismatch(describeJson(value), 'a string');
  if (value.isWellFormed()) return exact(value);
  return { kind: 'value', value: value.toWellFormed(), exact: 'mendedText' };
}

function integerMapper(expected: string, largest: bigint, convert: (integer: bigint) => ScalarValue): ScalarMapper {
  return (value) => {
    if (!(value instanceof JsonNumber)) return mismatch(describeJson(value), expected);
    if (!PLAIN_INTEGER.test(value.text)) return mismatch('a number that is not a plain integer', expected);
    const integer = BigInt(value.text);
    if (integer > largest || integer < -largest - 1n) return mismatch('an integer out of range', expected);
    return exact(convert(integer));
  };
}

function decimalMapper(form: { readonly precision: number; readonly scale: number }): ScalarMapper {
  const expected = `a decimal of ${form.precision} digits, ${form.scale} of them fraction digits`;
  return (value) => {
    if (!(value instanceof JsonNumber)) return mismatch(describeJson(value), expected);
    const encoded = encodeDecimal(value.text, form);
    if (encoded === null)
      return mismatch(`a number with more than ${form.precision - form.scale} integer digits`, expected);
    return { kind: 'value', value: encoded.bytes, exact: encoded.rounded ? 'rounded' : 'exact' };
  };
}

function textMapper(expected: string, parse: (text: string) => number | null): ScalarMapper {
  return (value) => {
    if (typeof value !== 'string') return mismatch(describeJson(value), expected);
    const parsed = parse(value);
    return parsed === null ? mismatch('a string of another form', expected) : exact(parsed);
  };
}

function instantMapper(assumedZone: AssumedZone | null): ScalarMapper {
  const expected = 'a date-time of ISO 8601 with its zone';
  return (value) => {
    if (typeof value !== 'string') return mismatch(describeJson(value), expected);
    const instant = parseInstant(value, assumedZone);
    if (instant === null) return mismatch('a string of another form', expected);
    if (instant === 'noZone')
      return mismatch('a date-time without a zone (marketData.assumedZone is not set)', expected);
    return { kind: 'value', value: instant.micros, exact: instant.rounded ? 'rounded' : 'exact' };
  };
}

function exact(value: ScalarValue): ScalarOutcome {
  return { kind: 'value', value, exact: 'exact' };
}

function mismatch(found: string, expected: string): ScalarOutcome {
  return { kind: 'mismatch', reason: `found ${found}, expected ${expected}` };
}
