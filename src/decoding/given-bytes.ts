// The bytes of values that are not sent but given: made once, and copied into the record.
import { writeBigVarint, writeVarint } from './number-writer.ts';

const OF_UNION = Uint8Array.of(2);
const LONGEST_VARINT = 10;

/** @param nullable whether the field is a union with null */
export function longBytes(value: bigint, nullable: boolean): Uint8Array {
  const bytes = Buffer.alloc(LONGEST_VARINT);
  return inUnion(bytes.subarray(0, writeBigVarint(value, bytes, 0)), nullable);
}

/** A lone surrogate has no UTF-8, and becomes U+FFFD. */
export function textBytes(text: string, nullable: boolean): Uint8Array {
  const utf8 = Buffer.from(text.toWellFormed());
  const length = Buffer.alloc(LONGEST_VARINT);
  return inUnion(Buffer.concat([length.subarray(0, writeVarint(utf8.length, length, 0)), utf8]), nullable);
}

function inUnion(bytes: Uint8Array, nullable: boolean): Uint8Array {
  return nullable ? Buffer.concat([OF_UNION, bytes]) : bytes;
}
