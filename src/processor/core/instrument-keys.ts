import { type InstrumentTerms, NO_TERMS } from '../../avro/instrument-terms.ts';
import { murmur2 } from '../../kafka/partitioner.ts';
import { TermsRows } from './terms-rows.ts';
import { WordRows } from './word-rows.ts';

/*
 * Id, isin and terms of each instrument of a partition, for a million of them: 18 bytes for all and 5 to 6 to find them,
 * where a Map of strings takes 100. An id has a row, which stays until it is removed and may then be another's.
 *
 * The id is kept as the int64 that it is, the isin as two numbers of six digits to the base 36. What is no such id or isin
 * is kept as text beside. Rows are found by open addressing: the slot of an id is where its hash points to, or the next
 * free one behind it. As the rows hold the ids, the slots can be thrown away before more of them are made.
 */

const LOW = 0;
const HIGH = 1;
const ISIN = 2;
const WIDTH = 4;
/** In place of an isin's first number, which is never one of these. */
const ODD_ISIN = -1;
const NO_ROW = -2;

const FIRST_SLOTS = 64;
const FULL = 0.8;
const GROWTH = 1.25;
const FREE = 0;
const LEFT = -1;

const DECIMAL = /^(?:0|-?[1-9][0-9]{0,18})$/;
const LONGEST_SAFE = 15;
const ISIN_TEXT = /^[0-9A-Z]{12}$/;
const BASE = 36;
const HALF = 6;
const TWO_32 = 2 ** 32;

export class InstrumentKeys {
  readonly #rows = new WordRows(WIDTH);
  readonly #terms = new TermsRows();
  /** Row numbers from 1. */
  #slots = new Int32Array(FIRST_SLOTS);
  #usedSlots = 0;
  /** Rows that are or were in use. */
  #end = 0;
  readonly #freeRows: number[] = [];
  readonly #oddIds = new Map<string, number>();
  readonly #oddIdOf = new Map<number, string>();
  readonly #oddIsins = new Map<number, string>();
  #low = 0;
  #high = 0;

  get size(): number {
    return this.#end - this.#freeRows.length;
  }

  /** The row of an id; -1 where it has none. */
  find(id: string): number {
    if (!this.#isInt64(id)) return this.#oddIds.get(id) ?? -1;
    return (this.#slots[this.#slotOf(this.#low, this.#high)] as number) - 1;
  }

  /** Gives the id an isin and terms, and a row where it has none. */
  set(id: string, isin: string, terms: InstrumentTerms = NO_TERMS): number {
    const known = this.find(id);
    const row = known >= 0 ? known : this.#add(id);
    this.#oddIsins.delete(row);
    if (ISIN_TEXT.test(isin)) {
      this.#rows.set(row, ISIN, Number.parseInt(isin.slice(0, HALF), BASE));
      this.#rows.set(row, ISIN + 1, Number.parseInt(isin.slice(HALF), BASE));
    } else {
      this.#rows.set(row, ISIN, ODD_ISIN);
      this.#oddIsins.set(row, isin);
    }
    this.#terms.set(row, terms);
    return row;
  }

  delete(id: string): void {
    const row = this.find(id);
    if (row < 0) return;
    if (!this.#oddIds.delete(id)) this.#slots[this.#slotOf(this.#low, this.#high)] = LEFT;
    this.#oddIdOf.delete(row);
    this.#oddIsins.delete(row);
    this.#rows.set(row, ISIN, NO_ROW);
    this.#freeRows.push(row);
  }

  idAt(row: number): string {
    const odd = this.#oddIdOf.get(row);
    if (odd !== undefined) return odd;
    const [low, high] = [this.#rows.get(row, LOW) >>> 0, this.#rows.get(row, HIGH)];
    const number = high * TWO_32 + low;
    return Number.isSafeInteger(number) ? String(number) : String((BigInt(high) << 32n) | BigInt(low));
  }

  isinAt(row: number): string {
    const first = this.#rows.get(row, ISIN);
    if (first === ODD_ISIN) return this.#oddIsins.get(row) as string;
    return digits(first) + digits(this.#rows.get(row, ISIN + 1));
  }

  termsAt(row: number): InstrumentTerms {
    return this.#terms.get(row);
  }

  setTerms(row: number, terms: InstrumentTerms): void {
    this.#terms.set(row, terms);
  }

  /** Of the id; not negative. */
  hashAt(row: number): number {
    return hashOf(this.#rows.get(row, LOW), this.#rows.get(row, HIGH)) & 0x7fffffff;
  }

  *rows(): Generator<number> {
    for (let row = 0; row < this.#end; row++) if (this.#rows.get(row, ISIN) !== NO_ROW) yield row;
  }

  /** Ids, isins and terms. */
  *[Symbol.iterator](): Generator<readonly [string, string, InstrumentTerms]> {
    for (const row of this.rows()) yield [this.idAt(row), this.isinAt(row), this.termsAt(row)];
  }

  #add(id: string): number {
    const isOdd = !this.#isInt64(id);
    if (!isOdd && this.#usedSlots >= Math.floor(this.#slots.length * FULL)) this.#makeSlots();
    const row = this.#freeRows.pop() ?? this.#end++;
    // Only the hash of an odd id is looked at, which is not found by it.
    this.#rows.set(row, LOW, isOdd ? murmur2(Buffer.from(id, 'utf8')) : this.#low);
    this.#rows.set(row, HIGH, isOdd ? 0 : this.#high);
    if (isOdd) {
      this.#oddIds.set(id, row);
      this.#oddIdOf.set(row, id);
    } else this.#putInSlot(row);
    return row;
  }

  #putInSlot(row: number): void {
    this.#slots[this.#slotOf(this.#rows.get(row, LOW), this.#rows.get(row, HIGH))] = row + 1;
    this.#usedSlots += 1;
  }

  /** What has left keeps its slot until then; so the same number may be enough. */
  #makeSlots(): void {
    const count = Math.max(FIRST_SLOTS, Math.ceil((this.size / FULL) * GROWTH));
    // Given back at once, and not when a collection finds them.
    this.#slots.buffer.transfer(0);
    this.#slots = new Int32Array(count);
    this.#usedSlots = 0;
    for (const row of this.rows()) if (!this.#oddIdOf.has(row)) this.#putInSlot(row);
  }

  /** The slot of an id, or the free one where it would be. There is always a free one. */
  #slotOf(low: number, high: number): number {
    const slots = this.#slots;
    let slot = Math.floor((hashOf(low, high) / TWO_32) * slots.length);
    for (;;) {
      const row = slots[slot] as number;
      if (row === FREE) return slot;
      if (row !== LEFT && this.#rows.get(row - 1, LOW) === low && this.#rows.get(row - 1, HIGH) === high) return slot;
      slot = slot + 1 === slots.length ? 0 : slot + 1;
    }
  }

  /** Keeps the two words of an id that is written as an int64 is. */
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

/** All bits of the result depend on all of both words, so that neighbours lie far apart. */
function hashOf(low: number, high: number): number {
  let mixed = low ^ Math.imul(high, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
