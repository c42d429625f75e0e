/** The values of leaves: decimals are unscaled bytes, dates days, date-times milliseconds or microseconds, longs bigints. */
export type ScalarValue = boolean | number | bigint | string | Buffer;

/** A record before it is encoded: a plain object with the schema's fields in the schema's order. */
export interface AvroRecord {
  readonly [field: string]: AvroValue;
}
export type AvroValue = null | ScalarValue | readonly AvroValue[] | AvroRecord;
