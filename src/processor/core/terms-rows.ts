import { type InstrumentTerms, NO_TERMS } from '../../avro/instrument-terms.ts';

const BLOCK_BITS = 10;
const BLOCK_ROWS = 1 << BLOCK_BITS;
/** Of terms that have a number of 16 bits; the last number stands for all others. */
const MOST_NUMBERED = 2 ** 16 - 1;

/**
 * The terms of each row, in 2 bytes: many instruments have the same currency, price type and day of repayment, so each
 * combination has a number. The terms of rows beyond the 65,535th combination are kept as they are. What was never written
 * is `NO_TERMS`.
 */
export class TermsRows {
  readonly #blocks: (Uint16Array | undefined)[] = [];
  readonly #terms: InstrumentTerms[] = [NO_TERMS];
  readonly #numbers = new Map<string, number>([[nameOf(NO_TERMS), 0]]);
  readonly #unnumbered = new Map<number, InstrumentTerms>();

  get(row: number): InstrumentTerms {
    const number = this.#blocks[row >> BLOCK_BITS]?.[row & (BLOCK_ROWS - 1)] ?? 0;
    if (number === MOST_NUMBERED) return this.#unnumbered.get(row) ?? NO_TERMS;
    return this.#terms[number] ?? NO_TERMS;
  }

  set(row: number, { currency, priceType, repaymentDay }: InstrumentTerms): void {
    const terms = { currency, priceType, repaymentDay };
    const number = this.#numberOf(terms);
    if (number === MOST_NUMBERED) this.#unnumbered.set(row, terms);
    else this.#unnumbered.delete(row);
    const at = row >> BLOCK_BITS;
    const block = this.#blocks[at] ?? new Uint16Array(BLOCK_ROWS);
    this.#blocks[at] = block;
    block[row & (BLOCK_ROWS - 1)] = number;
  }

  #numberOf(terms: InstrumentTerms): number {
    const name = nameOf(terms);
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#terms.length >= MOST_NUMBERED) return MOST_NUMBERED;
    this.#numbers.set(name, this.#terms.length);
    return this.#terms.push(terms) - 1;
  }
}

function nameOf({ currency, priceType, repaymentDay }: InstrumentTerms): string {
  return JSON.stringify([currency, priceType, repaymentDay]);
}
