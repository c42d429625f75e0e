/**
 * The check digit for the first 11 characters of an ISIN (ISO 6166: letters as 10–35, then Luhn). Exported for tests.
 */
export function isinCheckDigit(first11: string): string {
  let sum = 0;
  let double = true;
  for (let at = first11.length - 1; at >= 0; at--) {
    const value = characterValue(first11.charCodeAt(at));
    const units = value > 9 ? [value % 10, Math.floor(value / 10)] : [value];
    for (const digit of units) {
      const weighted = double ? digit * 2 : digit;
      sum += weighted > 9 ? weighted - 9 : weighted;
      double = !double;
    }
  }
  return String((10 - (sum % 10)) % 10);
}

function characterValue(code: number): number {
  return code <= 57 ? code - 48 : code - 55;
}

/** True if the text has the form of an ISIN and the correct check digit. Exported for tests. */
export function hasIsinForm(text: string): boolean {
  return /^[A-Z]{2}[A-Z0-9]{9}[0-9]$/.test(text) && text.endsWith(isinCheckDigit(text.slice(0, 11)));
}

/** The number of valors. A multiplication by SPREAD, modulo NUMBERS, spreads ids over the valors, and can be reversed. */
const NUMBERS = 1_000_000_000n;
const SPREAD = 387_420_489n;
const UNSPREAD = inverse(SPREAD, NUMBERS);

/** The identifiers that result from an instrument's id and country. */
export interface Identifiers {
  readonly isin: string;
  readonly valor: string;
  readonly wkn: string;
}

export function identifiersOf(id: bigint, country: string | null): Identifiers {
  const number = Number((id * SPREAD) % NUMBERS);
  const valor = String(number).padStart(9, '0');
  const wkn = number.toString(36).toUpperCase().padStart(6, '0');
  const first11 = country === 'DE' ? `DE000${wkn}` : `${country ?? 'XS'}${valor}`;
  return { isin: first11 + isinCheckDigit(first11), valor, wkn };
}

/** An ISIN is made from an instrument's id. Returns this id modulo 10^9; undefined if the ISIN is not made from an id. */
export function idResidueOf(isin: string): bigint | undefined {
  if (!hasIsinForm(isin)) return undefined;
  const number = isin.startsWith('DE000')
    ? Number.parseInt(isin.slice(5, 11), 36)
    : /^[0-9]{9}$/.test(isin.slice(2, 11))
      ? Number(isin.slice(2, 11))
      : Number.NaN;
  if (!(number < Number(NUMBERS))) return undefined;
  return (BigInt(number) * UNSPREAD) % NUMBERS;
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [oldRemainder, remainder, oldFactor, factor] = [value, modulus, 1n, 0n];
  while (remainder !== 0n) {
    const quotient = oldRemainder / remainder;
    [oldRemainder, remainder] = [remainder, oldRemainder - quotient * remainder];
    [oldFactor, factor] = [factor, oldFactor - quotient * factor];
  }
  return ((oldFactor % modulus) + modulus) % modulus;
}
