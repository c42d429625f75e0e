/** A decimal as Avro writes it: the unscaled value, big-endian two's complement in as few bytes as it takes. */
export interface EncodedDecimal {
  readonly bytes: Buffer;
  /** There were more fraction digits than the scale, not all zero. */
  readonly rounded: boolean;
}

export interface DecimalForm {
  readonly precision: number;
  readonly scale: number;
}

// Up to here a significand is exact as a double.
const SHORT_TEXT = 15;
const EIGHT_BYTES = 64n;

/**
 * Encodes JSON numbers, given as text, as Avro decimals: exactly, without floats, rounded half-even where there are
 * more fraction digits than the scale. 1.0, 1.00 and 1e0 give the same bytes. An exponent is limited before a big
 * number is made of it, so that a short text cannot cause much work.
 */
export class DecimalEncoder {
  readonly #scale: number;
  readonly #integerDigits: number;
  readonly #limit: bigint;
  readonly #powers: readonly bigint[];
  readonly #scratch = Buffer.alloc(16);

  constructor(form: DecimalForm) {
    if (form.precision > 38) throw new Error('A decimal of more than 38 digits does not fit into 16 bytes.');
    this.#scale = form.scale;
    this.#integerDigits = form.precision - form.scale;
    this.#powers = Array.from({ length: form.precision + 1 }, (_, exponent) => 10n ** BigInt(exponent));
    this.#limit = 10n ** BigInt(form.precision);
  }

  /** Null when the number has more integer digits than fit. `text` must be a JSON number. */
  encode(text: string): EncodedDecimal | null {
    const short = text.length <= SHORT_TEXT ? this.#shortUnscaled(text) : null;
    if (short !== null) return { bytes: this.#bytesOf(short), rounded: false };
    return this.#encodeAny(text);
  }

  // Numbers without exponent that fit a double exactly: nearly all numbers.
  #shortUnscaled(text: string): bigint | null {
    const negative = text.charCodeAt(0) === 0x2d;
    let significand = 0;
    let fractionDigits = -1;
    for (let at = negative ? 1 : 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 0x2e) fractionDigits = 0;
      else if (code < 0x30 || code > 0x39) return null;
      else {
        significand = significand * 10 + code - 0x30;
        if (fractionDigits >= 0) fractionDigits += 1;
      }
    }
    const power = this.#powers[this.#scale - Math.max(fractionDigits, 0)];
    if (power === undefined || text.length > this.#integerDigits) return null;
    return BigInt(negative ? -significand : significand) * power;
  }

  #encodeAny(text: string): EncodedDecimal | null {
    const { negative, digits, exponent } = significantDigits(text);
    if (digits === '') return { bytes: this.#bytesOf(0n), rounded: false };
    if (digits.length + exponent > this.#integerDigits) return null;
    const signed = (unscaled: bigint) => this.#bytesOf(negative ? -unscaled : unscaled);
    if (-exponent <= this.#scale) {
      const unscaled = BigInt(digits) * (this.#powers[this.#scale + exponent] ?? 0n);
      return { bytes: signed(unscaled), rounded: false };
    }
    const unscaled = roundHalfEven(digits, digits.length + exponent + this.#scale);
    return unscaled >= this.#limit ? null : { bytes: signed(unscaled), rounded: true };
  }

  #bytesOf(unscaled: bigint): Buffer {
    const scratch = this.#scratch;
    scratch.writeBigInt64BE(BigInt.asIntN(64, unscaled), 8);
    const high = unscaled >> EIGHT_BYTES;
    const long = high !== (unscaled < 0n ? -1n : 0n);
    if (long) scratch.writeBigInt64BE(high, 0);
    // A number of 64 unsigned bits whose top bit contradicts its sign needs a ninth byte.
    const sign = unscaled < 0n ? 0xff : 0;
    let start = long ? 0 : 8;
    if (!long && (scratch[8] ?? 0) >> 7 !== (sign & 1)) {
      scratch[7] = sign;
      return Buffer.from(scratch.subarray(7));
    }
    while (start < 15 && scratch[start] === sign && (scratch[start + 1] ?? 0) >> 7 === (sign & 1)) start += 1;
    return Buffer.from(scratch.subarray(start));
  }
}

interface Significand {
  readonly negative: boolean;
  /** Without leading and trailing zeros; empty for zero. */
  readonly digits: string;
  /** Of ten, to be multiplied with the digits read as an integer. */
  readonly exponent: number;
}

function significantDigits(text: string): Significand {
  const negative = text.startsWith('-');
  const exponentAt = Math.max(text.indexOf('e'), text.indexOf('E'));
  const mantissa = text.slice(negative ? 1 : 0, exponentAt < 0 ? undefined : exponentAt);
  const pointAt = mantissa.indexOf('.');
  const fraction = pointAt < 0 ? '' : mantissa.slice(pointAt + 1);
  const all = (pointAt < 0 ? mantissa : mantissa.slice(0, pointAt)) + fraction;
  let start = 0;
  while (all.charCodeAt(start) === 0x30) start += 1;
  let end = all.length;
  while (end > start && all.charCodeAt(end - 1) === 0x30) end -= 1;
  // A number too long for a double becomes infinite; every comparison below is right for it.
  const written = exponentAt < 0 ? 0 : Number(text.slice(exponentAt + 1));
  return { negative, digits: all.slice(start, end), exponent: written - fraction.length + (all.length - end) };
}

// The first `kept` digits, rounded by the others, of which the last is not zero; `kept` may be negative.
function roundHalfEven(digits: string, kept: number): bigint {
  if (kept < 0) return 0n;
  const head = BigInt(digits.slice(0, kept) || '0');
  const next = digits.charCodeAt(kept) - 0x30;
  const tie = next === 5 && digits.length === kept + 1;
  const up = tie ? head % 2n === 1n : next >= 5;
  return up ? head + 1n : head;
}

/** The text of an unscaled value, without trailing zeros of the fraction: "12.5", "-0.001", "100". */
export function decimalText(bytes: Uint8Array, scale: number): string {
  const unscaled = bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${hexOf(bytes)}`));
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const integer = digits.slice(0, digits.length - scale);
  let end = digits.length;
  while (end > integer.length && digits.charCodeAt(end - 1) === 0x30) end -= 1;
  const fraction = digits.slice(integer.length, end);
  return (unscaled < 0n ? '-' : '') + integer + (fraction === '' ? '' : `.${fraction}`);
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
