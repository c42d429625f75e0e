// The bytes of values that the caller gives and the provider does not send: made once, and copied into the record.
import { writeBigZigzag, writeZigzag } from './number-writer.ts';

const OF_UNION = 2;
const LONGEST_VARINT = 10;
const SHORT_DIGITS = 15;
const NULL_BYTES = new Uint8Array(1);

/** @param nullable whether the field is a union with null */
export function longBytes(value: bigint, nullable: boolean): Uint8Array {
  const bytes = Buffer.alloc(1 + LONGEST_VARINT, OF_UNION);
  return bytes.subarray(0, writeBigZigzag(value, bytes, nullable ? 1 : 0));
}

/** A long of decimal digits. */
export function digitsBytes(digits: string): Uint8Array {
  if (digits.length > SHORT_DIGITS) return longBytes(BigInt(digits), false);
  const bytes = new Uint8Array(LONGEST_VARINT);
  return bytes.subarray(0, writeZigzag(Number(digits), bytes, 0));
}

/** Of a field that is a union with null. */
export function textOrNullBytes(text: string | null): Uint8Array {
  return text === null ? NULL_BYTES : textBytes(text, true);
}

/** A lone surrogate has no UTF-8, and becomes U+FFFD. */
export function textBytes(text: string, nullable: boolean): Uint8Array {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.alloc(1 + LONGEST_VARINT + length, OF_UNION);
  const at = writeZigzag(length, bytes, nullable ? 1 : 0);
  return bytes.subarray(0, at + bytes.write(text, at));
}
