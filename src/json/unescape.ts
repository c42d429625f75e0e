// The UTF-8 of a JSON string with escapes, from its bytes to those of the record.
import { ESCAPES, hexDigit } from './json-bytes.ts';

const BACKSLASH = 0x5c;
const SMALL_U = 0x75;

/** Bytes by the letter of their escape. */
const PLAIN = Uint8Array.from({ length: 128 }, (_, letter) => ESCAPES.get(letter)?.charCodeAt(0) ?? 0);

/** Writes what the text between two quotes means; gives the position behind it, or -1 for a lone surrogate. */
export function writeUnescaped(bytes: Uint8Array, start: number, end: number, out: Uint8Array, at: number): number {
  let o = at;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte !== BACKSLASH) {
      out[o++] = byte;
      continue;
    }
    i += 1;
    const letter = bytes[i] as number;
    if (letter !== SMALL_U) {
      out[o++] = PLAIN[letter] as number;
      continue;
    }
    let code = unitAt(bytes, i + 1);
    i += 4;
    if (code >= 0xd800 && code <= 0xdfff) {
      const low = bytes[i + 1] === BACKSLASH && bytes[i + 2] === SMALL_U ? unitAt(bytes, i + 3) : 0;
      if (code > 0xdbff || low < 0xdc00 || low > 0xdfff) return -1;
      code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      i += 6;
    }
    o = writeCharacter(code, out, o);
  }
  return o;
}

function unitAt(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let i = at; i < at + 4; i++) unit = unit * 16 + hexDigit(bytes[i] as number);
  return unit;
}

function writeCharacter(code: number, out: Uint8Array, at: number): number {
  let o = at;
  if (code < 0x80) {
    out[o++] = code;
    return o;
  }
  if (code < 0x800) out[o++] = 0xc0 | (code >> 6);
  else {
    if (code < 0x1_0000) out[o++] = 0xe0 | (code >> 12);
    else {
      out[o++] = 0xf0 | (code >> 18);
      out[o++] = 0x80 | ((code >> 12) & 0x3f);
    }
    out[o++] = 0x80 | ((code >> 6) & 0x3f);
  }
  out[o++] = 0x80 | (code & 0x3f);
  return o;
}
