// Texts and bytes that are copied as they are. Most are short, and a short loop costs less than a call.
import { writeZigzag } from './number-writer.ts';

const ONE_BYTE_LENGTH = 64;
const SHORT_COPY = 32;

/** A text with its length. */
export function writeText(text: string, out: Buffer, at: number): number {
  const { length } = text;
  if (length < ONE_BYTE_LENGTH) {
    // Nearly all are ASCII.
    let k = 0;
    for (; k < length; k++) {
      const code = text.charCodeAt(k);
      if (code >= 0x80) break;
      out[at + 1 + k] = code;
    }
    if (k === length) {
      out[at] = 2 * length;
      return at + 1 + length;
    }
  }
  const bytes = Buffer.byteLength(text);
  const o = writeZigzag(bytes, out, at);
  out.write(text, o, bytes, 'utf8');
  return o + bytes;
}

/** The first bytes of another buffer, without their length. */
export function copyBytes(from: Uint8Array, length: number, out: Uint8Array, at: number): number {
  if (length > SHORT_COPY) out.set(length < from.length ? from.subarray(0, length) : from, at);
  else for (let k = 0; k < length; k++) out[at + k] = from[k] as number;
  return at + length;
}
