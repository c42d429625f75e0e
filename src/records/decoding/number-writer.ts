// Writes Avro numbers. A decimal is computed as the number × 10^18, in 24-bit integers (limbs), lowest first.

import { encodeDecimal } from '../avro/decimal.ts';
import { PRECISION, SCALE } from './plan.ts';

const OF_UNION = 2;
const IS_NULL = 0;
const LONGEST_VARINT = 10;
const SHORT_DIGITS = 15;
const MOST_BYTES_OF_CHARACTER = 3;
const ONE_BYTE_LENGTH = 64;
const SHORT_COPY = 32;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const BASE = 2 ** 24;
const LIMBS = 6;
const MOST_SHORT_DIGITS = 15;
const LARGEST_SHORT = 999_999_999_999_999;
const FOUR_VARINT_BYTES = 2 ** 28;
const GROUP = 7;
const GROUP_POWERS = Float64Array.from({ length: GROUP + 1 }, (_, exponent) => 10 ** exponent);
const LONGEST_EXPONENT = 4;

const SHORT_LONG_BITS = 52;
const FORM = { precision: PRECISION, scale: SCALE };

const POWERS = Array.from({ length: SCALE + 1 }, (_, exponent) => {
  const power = 10n ** BigInt(exponent);
  return Float64Array.of(Number(power & 0xff_ffffn), Number((power >> 24n) & 0xff_ffffn), Number(power >> 48n));
});

export function writeZigzag(value: number, out: Uint8Array, at: number): number {
  const rest = value < 0 ? -2 * value - 1 : 2 * value;
  let o = at;
  let word = rest | 0;
  if (rest > 0x7fff_ffff) {
    // Remainders of doubles are slow. So the low four varint bytes (28 bits) and the high part become 32-bit integers.
    word = Math.floor(rest / FOUR_VARINT_BYTES);
    const low = (rest - word * FOUR_VARINT_BYTES) | 0;
    out[o] = low | 128;
    out[o + 1] = (low >>> 7) | 128;
    out[o + 2] = (low >>> 14) | 128;
    out[o + 3] = (low >>> 21) | 128;
    o += 4;
  }
  while (word > 127) {
    out[o++] = word | 128;
    word >>>= 7;
  }
  out[o++] = word;
  return o;
}

export function writeBigZigzag(value: bigint, out: Uint8Array, at: number): number {
  if (BigInt.asIntN(SHORT_LONG_BITS, value) === value) return writeZigzag(Number(value), out, at);
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  let o = at;
  for (; rest > 127n; rest >>= 7n) out[o++] = Number(rest & 127n) | 128;
  out[o++] = Number(rest);
  return o;
}

/** Reads a JSON number as an integer; null if the number has another form or does not fit in 64 bits. */
export function readLong(bytes: Buffer, start: number, end: number): bigint | null {
  if (end - start > 20) return null;
  const text = bytes.toString('latin1', start, end);
  if (!/^-?\d{1,19}$/.test(text)) return null;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : null;
}

export function writeLong(bytes: Buffer, start: number, end: number, out: Uint8Array, at: number): number {
  if (end - start > MOST_SHORT_DIGITS) {
    const value = readLong(bytes, start, end);
    return value === null ? -1 : writeBigZigzag(value, out, at);
  }
  const negative = bytes[start] === MINUS;
  let value = 0;
  for (let i = negative ? start + 1 : start; i < end; i++) {
    const digit = (bytes[i] as number) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return writeZigzag(negative ? -value : value, out, at);
}

export class DecimalWriter {
  rounded = false;
  readonly #limbs = new Float64Array(LIMBS);
  #used = 0;

  /** Rounds the number half-even; writes its length and bytes. Returns -1 if its integer digits do not fit. */
  write(bytes: Buffer, start: number, end: number, out: Uint8Array, at: number): number {
    const negative = bytes[start] === MINUS;
    const first = negative ? start + 1 : start;
    this.rounded = false;
    if (end - first > MOST_SHORT_DIGITS + 1) return this.#writeLong(bytes, start, end, out, at);
    let pointAt = end - 1;
    let significand = 0;
    for (let i = first; i < end; i++) {
      const digit = (bytes[i] as number) - ZERO;
      if (digit < 0) pointAt = i;
      else if (digit < 10) significand = significand * 10 + digit;
      else return this.#writeLong(bytes, start, end, out, at);
    }
    if (significand > LARGEST_SHORT) return this.#writeLong(bytes, start, end, out, at);
    this.#multiply(significand, POWERS[SCALE + 1 + pointAt - end] as Float64Array);
    return this.#writeLimbs(negative, out, at);
  }

  #multiply(significand: number, power: Float64Array): void {
    const limbs = this.#limbs;
    const p0 = power[0] as number;
    const p1 = power[1] as number;
    const p2 = power[2] as number;
    if (significand < BASE) {
      let product = significand * p0;
      let over = Math.floor(product / BASE);
      limbs[0] = product - over * BASE;
      product = significand * p1 + over;
      over = Math.floor(product / BASE);
      limbs[1] = product - over * BASE;
      product = significand * p2 + over;
      over = Math.floor(product / BASE);
      limbs[2] = product - over * BASE;
      limbs[3] = over;
      limbs[4] = 0;
      limbs[5] = 0;
      return;
    }
    const high = Math.floor(significand / BASE);
    const a0 = significand - high * BASE;
    const a2 = Math.floor(high / BASE);
    const a1 = high - a2 * BASE;
    let sum = a0 * p0;
    let carry = Math.floor(sum / BASE);
    limbs[0] = sum - carry * BASE;
    sum = a0 * p1 + a1 * p0 + carry;
    carry = Math.floor(sum / BASE);
    limbs[1] = sum - carry * BASE;
    sum = a0 * p2 + a1 * p1 + a2 * p0 + carry;
    carry = Math.floor(sum / BASE);
    limbs[2] = sum - carry * BASE;
    sum = a1 * p2 + a2 * p1 + carry;
    carry = Math.floor(sum / BASE);
    limbs[3] = sum - carry * BASE;
    limbs[4] = a2 * p2 + carry;
    limbs[5] = 0;
  }

  #writeLong(bytes: Buffer, start: number, end: number, out: Uint8Array, at: number): number {
    const negative = bytes[start] === MINUS;
    this.#limbs.fill(0);
    this.#used = 0;
    const first = negative ? start + 1 : start;
    let group = 0;
    let inGroup = 0;
    let point = -1;
    let i = first;
    // The loop reads one digit more than fits, to detect a number that is too long.
    let stop = Math.min(end, first + PRECISION + 1);
    for (;;) {
      for (; i < stop; i++) {
        const digit = (bytes[i] as number) - ZERO;
        if (digit < 0 || digit > 9) break;
        group = group * 10 + digit;
        inGroup += 1;
        if (inGroup < GROUP) continue;
        this.#append(GROUP_POWERS[GROUP] as number, group);
        group = 0;
        inGroup = 0;
      }
      if (point >= 0 || bytes[i] !== POINT) break;
      point = i;
      i += 1;
      stop = Math.min(end, i + SCALE, first + PRECISION + 2);
    }
    const places = point < 0 ? 0 : i - point - 1;
    let digits = i - first - (point < 0 ? 0 : 1);
    for (let k = first; digits > 0 && (bytes[k] === ZERO || k === point); k++) if (k !== point) digits -= 1;
    if (digits > PRECISION) return this.#writeOdd(bytes, start, end, out, at);
    if (inGroup > 0) this.#append(GROUP_POWERS[inGroup] as number, group);
    if (i === end) return this.#writeScaled(digits, SCALE - places, negative, out, at);
    if (((bytes[i] as number) | 0x20) !== 0x65) return this.#round(bytes, i, start, end, digits, out, at);
    const exponent = shortExponent(bytes, i + 1, end);
    const shift = SCALE - places + exponent;
    if (Number.isNaN(exponent) || shift < 0) return this.#writeOdd(bytes, start, end, out, at);
    return this.#writeScaled(digits, shift, negative, out, at);
  }

  #writeScaled(digits: number, shift: number, negative: boolean, out: Uint8Array, at: number): number {
    if (digits > 0 && digits + shift > PRECISION) return -1;
    let rest = digits === 0 ? 0 : shift;
    for (; rest > GROUP; rest -= GROUP) this.#append(GROUP_POWERS[GROUP] as number, 0);
    if (rest > 0) this.#append(GROUP_POWERS[rest] as number, 0);
    return this.#writeLimbs(negative, out, at);
  }

  // Rounds a fraction whose digits at and after `from` do not fit.
  #round(bytes: Buffer, from: number, start: number, end: number, digits: number, out: Uint8Array, at: number): number {
    const next = (bytes[from] as number) - ZERO;
    let isMore = false;
    for (let i = from + 1; i < end; i++) {
      const digit = (bytes[i] as number) - ZERO;
      if (digit > 9) return this.#writeOdd(bytes, start, end, out, at);
      if (digit !== 0) isMore = true;
    }
    if (digits >= PRECISION) return this.#writeOdd(bytes, start, end, out, at);
    this.rounded = next !== 0 || isMore;
    const isOdd = ((this.#limbs[0] as number) & 1) === 1;
    if (next > 5 || (next === 5 && (isMore || isOdd))) this.#append(1, 1);
    return this.#writeLimbs(bytes[start] === MINUS, out, at);
  }

  #writeOdd(bytes: Buffer, start: number, end: number, out: Uint8Array, at: number): number {
    const encoded = encodeDecimal(bytes.toString('latin1', start, end), FORM);
    if (encoded === null) return -1;
    this.rounded = encoded.rounded;
    out[at] = 2 * encoded.bytes.length;
    out.set(encoded.bytes, at + 1);
    return at + 1 + encoded.bytes.length;
  }

  // Replaces the limbs by limbs × factor + addend. The factor is at most 10^7, so no product reaches 2^53.
  #append(factor: number, addend: number): void {
    const limbs = this.#limbs;
    let carry = addend;
    for (let k = 0; k < this.#used; k++) {
      const sum = (limbs[k] as number) * factor + carry;
      carry = Math.floor(sum / BASE);
      limbs[k] = sum - carry * BASE;
    }
    if (carry > 0) limbs[this.#used++] = carry;
  }

  #writeLimbs(negative: boolean, out: Uint8Array, at: number): number {
    const limbs = this.#limbs;
    let top = LIMBS - 1;
    while (top >= 0 && limbs[top] === 0) top -= 1;
    let flip = 0;
    if (negative && top >= 0) {
      // In two's complement, -m is the bitwise complement of m - 1.
      flip = -1;
      let k = 0;
      while (limbs[k] === 0) limbs[k++] = BASE - 1;
      limbs[k] = (limbs[k] as number) - 1;
      if (k === top && limbs[k] === 0) top -= 1;
    }
    const highest = top < 0 ? 0 : (limbs[top] as number);
    // The highest limb takes as many bytes as its bits and one sign bit need.
    const bytes = (40 - Math.clz32(highest)) >> 3;
    let o = at;
    out[o++] = 2 * (bytes + Math.max(0, 3 * top));
    for (let bits = 8 * bytes - 8; bits >= 0; bits -= 8) out[o++] = (highest ^ flip) >> bits;
    for (let k = top - 1; k >= 0; k--) {
      const limb = (limbs[k] as number) ^ flip;
      out[o++] = limb >> 16;
      out[o++] = limb >> 8;
      out[o++] = limb;
    }
    return o;
  }
}

function shortExponent(bytes: Buffer, start: number, end: number): number {
  if (end - start > LONGEST_EXPONENT) return Number.NaN;
  return Number(bytes.toString('latin1', start, end));
}

// Most texts are short. For a short text, a loop is faster than a call of a library function.

export function writeText(text: string, out: Buffer, at: number): number {
  const { length } = text;
  if (length < ONE_BYTE_LENGTH) {
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

/** Copies the first `length` bytes of another buffer, without a length prefix. */
export function copyBytes(from: Uint8Array, length: number, out: Uint8Array, at: number): number {
  if (length > SHORT_COPY) out.set(length < from.length ? from.subarray(0, length) : from, at);
  else for (let k = 0; k < length; k++) out[at + k] = from[k] as number;
  return at + length;
}

// A field whose value the caller sets. The value is encoded once for each row, and copied into each record of the row.

export class GivenField {
  bytes: Buffer = Buffer.alloc(64);
  length = 0;
  #text: string | null | undefined;

  setDigits(digits: string): void {
    const { bytes } = this;
    this.length =
      digits.length > SHORT_DIGITS ? writeBigZigzag(BigInt(digits), bytes, 0) : writeZigzag(Number(digits), bytes, 0);
  }

  /** A lone surrogate has no UTF-8 form and becomes U+FFFD. */
  setText(text: string): void {
    this.#makeRoom(text);
    this.length = writeText(text, this.bytes, 0);
  }

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

/** Encodes moments (milliseconds since the epoch) as nullable Avro fields. */
export function momentsBytes(moments: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(moments.length * (1 + LONGEST_VARINT));
  let at = 0;
  for (const ms of moments) {
    bytes[at] = OF_UNION;
    at = writeBigZigzag(BigInt(Math.round(ms)), bytes, at + 1);
  }
  return bytes.subarray(0, at);
}
