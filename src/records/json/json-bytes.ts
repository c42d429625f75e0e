const BACKSLASH = 0x5c;
const SMALL_U = 0x75;

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

const PLAIN = Uint8Array.from({ length: 128 }, (_, letter) => ESCAPES.get(letter)?.charCodeAt(0) ?? 0);

/** Names a byte for an error: punctuation is shown; letters and digits are hidden, because they are part of a value. */
export function describeByte(byte: number): string {
  if (byte === 0xef) return 'byte 0xef (the first byte of a byte order mark)';
  if (byte < 0x21 || byte > 0x7e) return `byte 0x${byte.toString(16).padStart(2, '0')}`;
  const char = String.fromCharCode(byte);
  if (/[A-Za-z]/.test(char)) return 'a letter';
  if (/\d/.test(char)) return 'a digit';
  return `"${char}"`;
}

export function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Writes a JSON string to `out` without escapes. Returns the position after the text, or -1 for a lone surrogate. */
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
