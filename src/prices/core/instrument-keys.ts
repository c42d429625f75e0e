import { murmur2 } from '../../kafka/record.ts';
import { type InstrumentTerms, NO_TERMS } from '../../records/avro/instrument-terms.ts';
import { IdRows } from '../../support/id-rows.ts';

/*
 * The id, isin and terms (currency, price type, repayment day) of each instrument of a partition. An isin is kept as
 * two numbers of six base-36 digits. Ids that are not int64, and isins that are not 12 capital letters and digits, are
 * kept as text. Many instruments have the same terms, so each combination of terms is stored once, with a number.
 */

/** The positions of the isin and the terms in a table row of 32-bit integers. The id is at 0 and 1. */
const ISIN = 2;
const TERMS = 4;
const WIDTH = 5;
/** Marks an isin that is kept as text. It differs from the number of any six base-36 digits. */
const ODD_ISIN = -1;

const DECIMAL = /^(?:0|-?[1-9][0-9]{0,18})$/;
const LONGEST_SAFE = 15;
const ISIN_TEXT = /^[0-9A-Z]{12}$/;
const BASE = 36;
const HALF = 6;
const TWO_32 = 2 ** 32;

export class InstrumentKeys {
  readonly #rows = new IdRows(WIDTH);
  readonly #terms: InstrumentTerms[] = [NO_TERMS];
  readonly #termsNumbers = new Map<string, number>([[nameOf(NO_TERMS), 0]]);
  readonly #oddIds = new Map<string, number>();
  readonly #oddIdOf = new Map<number, string>();
  readonly #oddIsins = new Map<number, string>();
  #low = 0;
  #high = 0;

  get size(): number {
    return this.#rows.size;
  }

  /** The row of an id; -1 if the id has no row. */
  find(id: string): number {
    if (!this.#isInt64(id)) return this.#oddIds.get(id) ?? -1;
    return this.#rows.find(this.#low, this.#high);
  }

  /** Stores the isin and terms of an id, and adds a row if the id has no row. */
  set(id: string, isin: string, terms: InstrumentTerms = NO_TERMS): number {
    const known = this.find(id);
    const row = known >= 0 ? known : this.#add(id);
    this.#oddIsins.delete(row);
    if (ISIN_TEXT.test(isin)) {
      this.#rows.words.set(row, ISIN, Number.parseInt(isin.slice(0, HALF), BASE));
      this.#rows.words.set(row, ISIN + 1, Number.parseInt(isin.slice(HALF), BASE));
    } else {
      this.#rows.words.set(row, ISIN, ODD_ISIN);
      this.#oddIsins.set(row, isin);
    }
    this.setTerms(row, terms);
    return row;
  }

  delete(id: string): void {
    const row = this.find(id);
    if (row < 0) return;
    this.#oddIds.delete(id);
    this.#oddIdOf.delete(row);
    this.#oddIsins.delete(row);
    this.#rows.remove(row);
  }

  idAt(row: number): string {
    return this.#oddIdOf.get(row) ?? String(this.#rows.idAt(row));
  }

  isinAt(row: number): string {
    const first = this.#rows.words.get(row, ISIN);
    if (first === ODD_ISIN) return this.#oddIsins.get(row) as string;
    return digits(first) + digits(this.#rows.words.get(row, ISIN + 1));
  }

  termsAt(row: number): InstrumentTerms {
    return this.#terms[this.#rows.words.get(row, TERMS)] ?? NO_TERMS;
  }

  setTerms(row: number, terms: InstrumentTerms): void {
    const name = nameOf(terms);
    const number = this.#termsNumbers.get(name) ?? this.#terms.length;
    if (number === this.#terms.length) {
      this.#terms.push(terms);
      this.#termsNumbers.set(name, number);
    }
    this.#rows.words.set(row, TERMS, number);
  }

  hashAt(row: number): number {
    return this.#rows.hashAt(row);
  }

  rows(): Generator<number> {
    return this.#rows.rows();
  }

  *[Symbol.iterator](): Generator<readonly [string, string, InstrumentTerms]> {
    for (const row of this.rows()) yield [this.idAt(row), this.isinAt(row), this.termsAt(row)];
  }

  #add(id: string): number {
    if (this.#isInt64(id)) return this.#rows.add(this.#low, this.#high);
    // The hash of an id that is not an int64 only chooses its refresh slot. `#oddIds` finds its row.
    const row = this.#rows.addHidden(murmur2(Buffer.from(id, 'utf8')), 0);
    this.#oddIds.set(id, row);
    this.#oddIdOf.set(row, id);
    return row;
  }

  /** If the text is an int64, sets `#low` and `#high` to its two halves; otherwise returns false. */
  #isInt64(id: string): boolean {
    if (!DECIMAL.test(id)) return false;
    if (id.length <= LONGEST_SAFE) {
      const number = Number(id);
      this.#low = number | 0;
      this.#high = Math.floor(number / TWO_32);
      return true;
    }
    const number = BigInt(id);
    if (BigInt.asIntN(64, number) !== number) return false;
    this.#low = Number(BigInt.asIntN(32, number));
    this.#high = Number(number >> 32n);
    return true;
  }
}

function digits(number: number): string {
  return (number >>> 0).toString(BASE).toUpperCase().padStart(HALF, '0');
}

function nameOf({ currency, priceType, repaymentDay }: InstrumentTerms): string {
  return JSON.stringify([currency, priceType, repaymentDay]);
}
