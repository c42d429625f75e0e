// A field whose value the caller gives and the provider does not send. Its bytes are made once for each row, in a buffer that
// is used again, and copied into each of the row's records.
import { writeBigZigzag, writeZigzag } from './number-writer.ts';
import { writeText } from './text-writer.ts';

const OF_UNION = 2;
const IS_NULL = 0;
const LONGEST_VARINT = 10;
const SHORT_DIGITS = 15;
const MOST_BYTES_OF_CHARACTER = 3;

export class GivenField {
  bytes: Buffer = Buffer.alloc(64);
  /** How many of the bytes are the field's. */
  length = 0;
  #text: string | null | undefined;

  /** A long of decimal digits. */
  setDigits(digits: string): void {
    const { bytes } = this;
    this.length =
      digits.length > SHORT_DIGITS ? writeBigZigzag(BigInt(digits), bytes, 0) : writeZigzag(Number(digits), bytes, 0);
  }

  /** A lone surrogate has no UTF-8, and becomes U+FFFD. */
  setText(text: string): void {
    this.#makeRoom(text);
    this.length = writeText(text, this.bytes, 0);
  }

  /** Of a field that is a union with null. Most are the same as for the row before. */
  setTextOrNull(text: string | null): void {
    if (text === this.#text) return;
    this.#text = text;
    if (text !== null) this.#makeRoom(text);
    this.bytes[0] = text === null ? IS_NULL : OF_UNION;
    this.length = text === null ? 1 : writeText(text, this.bytes, 1);
  }

  #makeRoom({ length }: string): void {
    const most = 1 + LONGEST_VARINT + MOST_BYTES_OF_CHARACTER * length;
    if (most > this.bytes.length) this.bytes = Buffer.alloc(2 * most);
  }
}

/** Moments in milliseconds since the epoch, each of a field that is a union with null. */
export function momentsBytes(moments: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(moments.length * (1 + LONGEST_VARINT));
  let at = 0;
  for (const ms of moments) {
    bytes[at] = OF_UNION;
    at = writeBigZigzag(BigInt(Math.round(ms)), bytes, at + 1);
  }
  return bytes.subarray(0, at);
}
