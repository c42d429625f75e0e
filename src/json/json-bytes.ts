import { isUtf8 } from 'node:buffer';

/** The bytes that JSON is made of. */
export const BYTES = {
  QUOTE: 0x22,
  COMMA: 0x2c,
  MINUS: 0x2d,
  POINT: 0x2e,
  ZERO: 0x30,
  NINE: 0x39,
  COLON: 0x3a,
  OPEN_BRACKET: 0x5b,
  BACKSLASH: 0x5c,
  CLOSE_BRACKET: 0x5d,
  OPEN_BRACE: 0x7b,
  CLOSE_BRACE: 0x7d,
} as const;

/** What the letters behind a backslash mean; `u` alone is not among them. */
export const ESCAPES: ReadonlyMap<number, string> = new Map(
  [...'"\\/']
    .map((char) => [char.charCodeAt(0), char] as const)
    .concat([
      [0x62, '\b'],
      [0x66, '\f'],
      [0x6e, '\n'],
      [0x72, '\r'],
      [0x74, '\t'],
    ]),
);

/** What a byte is, in words that reveal nothing of a value: punctuation is shown, letters and digits are not. */
export function describeByte(byte: number): string {
  if (byte === 0xef) return 'byte 0xef (a byte order mark begins so)';
  if (byte < 0x21 || byte > 0x7e) return `byte 0x${byte.toString(16).padStart(2, '0')}`;
  const char = String.fromCharCode(byte);
  if (/[A-Za-z]/.test(char)) return 'a letter';
  if (/\d/.test(char)) return 'a digit';
  return `"${char}"`;
}

/** The value of a hexadecimal digit's byte, or -1. */
export function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** The start of the first sequence that is not UTF-8. */
export function firstInvalidUtf8(bytes: Buffer): number {
  // The longest valid prefix, by bisection: a prefix is valid up to a sequence's cut, so the cut is looked at last.
  let valid = 0;
  let invalid = bytes.length;
  while (invalid - valid > 8) {
    const middle = sequenceStart(bytes, (valid + invalid) >>> 1);
    if (middle <= valid || middle >= invalid) break;
    if (isUtf8(bytes.subarray(valid, middle))) valid = middle;
    else invalid = middle;
  }
  for (let length = 1; valid < bytes.length; length++) {
    if (isUtf8(bytes.subarray(valid, valid + length))) {
      valid += length;
      length = 0;
    } else if (length >= 4) break;
  }
  return valid;
}

// At most three bytes back: a longer run of continuation bytes is no sequence.
function sequenceStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > at - 3 && (bytes[start] ?? 0) >> 6 === 2) start -= 1;
  return start;
}
