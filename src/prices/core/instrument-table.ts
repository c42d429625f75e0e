import { type InstrumentTerms, NO_TERMS } from '../../records/avro/instrument-terms.ts';
import { WordRows } from '../../support/id-rows.ts';
import type { PriceKind } from '../bulk-prices.ts';
import { type AskedInstrument, type PlanColumns, planWidth, RefreshPlan } from './instrument.ts';
import { InstrumentKeys } from './instrument-keys.ts';

/** The first integer of a row is the version: an even number, plus 1 if the id had another isin before. The plans follow. */
const VERSION = 0;
const FIRST_PLAN = 1;

/**
 * The instruments of one partition that have an isin. An instrument takes 12 bytes, plus 8 for each further kind of prices,
 * plus 4 for each series, plus its keys. An instrument that a method returned is valid until `holds` returns false for it.
 */
export class InstrumentTable {
  readonly #keys = new InstrumentKeys();
  readonly #words: WordRows;
  readonly #columns: readonly PlanColumns[];
  #versions = 0;

  constructor(kinds: readonly PriceKind[]) {
    const wordBehind = (some: readonly PriceKind[]) => some.reduce((word, kind) => word + planWidth(kind), FIRST_PLAN);
    const words = new WordRows(wordBehind(kinds));
    this.#words = words;
    this.#columns = kinds.map((kind, at) => {
      return { kind, words, firstWord: wordBehind(kinds.slice(0, at)), troubles: new Map() };
    });
  }

  get size(): number {
    return this.#keys.size;
  }

  get(id: string): AskedInstrument | undefined {
    const row = this.#keys.find(id);
    return row < 0 ? undefined : this.at(row);
  }

  at(row: number): AskedInstrument {
    return this.#instrument(row, this.#keys.idAt(row), this.#keys.isinAt(row));
  }

  repaymentDayAt(row: number): number | null {
    return this.#keys.termsAt(row).repaymentDay;
  }

  rows(): Iterable<number> {
    return this.#keys.rows();
  }

  plan(row: number, kind: number): RefreshPlan {
    return new RefreshPlan(this.#columns[kind] as PlanColumns, row);
  }

  hashAt(row: number): number {
    return this.#keys.hashAt(row);
  }

  /** False after the instrument was deleted or got another isin. */
  holds({ row, version }: AskedInstrument): boolean {
    return this.#words.get(row, VERSION) === version;
  }

  /** Adds an instrument, which replaces any earlier instrument with the same id. */
  put(id: string, isin: string, sinceMs: number, terms: InstrumentTerms = NO_TERMS): AskedInstrument {
    const isinChanged = this.#keys.find(id) >= 0;
    const row = this.#keys.set(id, isin, terms);
    this.#versions += 2;
    this.#words.set(row, VERSION, isinChanged ? this.#versions + 1 : this.#versions);
    const instrument = this.#instrument(row, id, isin);
    for (const plan of instrument.plans) plan.reset(sinceMs);
    return instrument;
  }

  putTerms({ row }: AskedInstrument, terms: InstrumentTerms): AskedInstrument {
    this.#keys.setTerms(row, terms);
    return this.at(row);
  }

  delete(id: string): void {
    const row = this.#keys.find(id);
    if (row < 0) return;
    for (const plan of this.at(row).plans) plan.reset(0);
    this.#words.set(row, VERSION, 0);
    this.#keys.delete(id);
  }

  /** The hashes of the rows that `isAskedFor` accepts. The result may be a part of a longer buffer. */
  hashes(isAskedFor: (row: number) => boolean): Int32Array<ArrayBuffer> {
    const hashes = new Int32Array(this.size);
    let count = 0;
    for (const row of this.rows()) if (isAskedFor(row)) hashes[count++] = this.hashAt(row);
    return hashes.subarray(0, count);
  }

  #instrument(row: number, id: string, isin: string): AskedInstrument {
    const version = this.#words.get(row, VERSION);
    return {
      id,
      isin,
      terms: this.#keys.termsAt(row),
      row,
      version,
      isinChanged: version % 2 === 1,
      plans: this.#columns.map((columns) => new RefreshPlan(columns, row)),
    };
  }
}
