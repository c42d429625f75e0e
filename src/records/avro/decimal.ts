/** An Avro decimal: the unscaled value as big-endian two's complement, in the fewest bytes. */
export interface EncodedDecimal {
  readonly bytes: Buffer;
  /** True if the number lost non-zero fraction digits. */
  readonly rounded: boolean;
}

/**
 * Encodes the text of a JSON number as an Avro decimal, without floats. Fraction digits that exceed
 * the scale are rounded half-even. 1.0, 1.00 and 1e0 give the same bytes. The exponent is limited before a big integer
 * is made, so that a short text cannot cause much work. Returns null if the number has too many integer digits.
 */
export function encodeDecimal(
  text: string,
  { precision, scale }: { readonly precision: number; readonly scale: number },
): EncodedDecimal | null {
  const { negative, digits, exponent } = significantDigits(text);
  if (digits === '') return { bytes: twosComplement(0n), rounded: false };
  if (digits.length + exponent > precision - scale) return null;
  const rounded = -exponent > scale;
  const unscaled = rounded
    ? roundHalfEven(digits, digits.length + exponent + scale)
    : BigInt(digits) * 10n ** BigInt(scale + exponent);
  if (unscaled >= 10n ** BigInt(precision)) return null;
  return { bytes: twosComplement(negative ? -unscaled : unscaled), rounded };
}

function twosComplement(value: bigint): Buffer {
  const bits = (value < 0n ? ~value : value).toString(2).length;
  const bytes = (bits >> 3) + 1;
  const hex = BigInt.asUintN(8 * bytes, value).toString(16);
  return Buffer.from(hex.padStart(2 * bytes, '0'), 'hex');
}

interface Significand {
  readonly negative: boolean;
  /** The digits without leading and trailing zeros; empty for zero. */
  readonly digits: string;
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
  // An exponent too large for a double becomes infinite; the comparisons in `encodeDecimal` stay correct.
  const written = exponentAt < 0 ? 0 : Number(text.slice(exponentAt + 1));
  return { negative, digits: all.slice(start, end), exponent: written - fraction.length + (all.length - end) };
}

// Returns the first `kept` digits, rounded half-even. `digits` does not end with a zero; `kept` may be negative.
function roundHalfEven(digits: string, kept: number): bigint {
  if (kept < 0) return 0n;
  const head = BigInt(digits.slice(0, kept) || '0');
  const next = digits.charCodeAt(kept) - 0x30;
  const tie = next === 5 && digits.length === kept + 1;
  const up = tie ? head % 2n === 1n : next >= 5;
  return up ? head + 1n : head;
}

/** Returns an unscaled value as text, without trailing zeros in the fraction: "12.5", "-0.001", "100". */
export function decimalText(bytes: Uint8Array, scale: number): string {
  const unscaled =
    bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const integer = digits.slice(0, digits.length - scale);
  let end = digits.length;
  while (end > integer.length && digits.charCodeAt(end - 1) === 0x30) end -= 1;
  const fraction = digits.slice(integer.length, end);
  return (unscaled < 0n ? '-' : '') + integer + (fraction === '' ? '' : `.${fraction}`);
}
