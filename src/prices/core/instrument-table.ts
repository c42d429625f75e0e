import { type InstrumentTerms, NO_TERMS } from '../../records/avro/instrument-terms.ts';
import { WordRows } from '../../support/id-rows.ts';
import type { PriceKind } from '../bulk-prices.ts';
import { type AskedInstrument, PLAN_FLAG_BITS, type PlanColumns, RefreshPlan } from './instrument.ts';
import { InstrumentKeys } from './instrument-keys.ts';

/** The words of a row: behind the version those of the flags, and behind these the one of each kind. */
const VERSION = 0;
const FLAGS = 1;
const KINDS_PER_WORD = 7;
/** Above the flags of the first kinds. */
const ISIN_CHANGED = 1 << 30;

/**
 * The instruments of one partition that have an isin: 12 bytes each beside their keys, 4 for each further kind, and 4 for each series.
 * An
 * instrument that is taken from here represents the row as long as the table `holds` it.
 */
export class InstrumentTable {
  readonly #keys = new InstrumentKeys();
  readonly #words: WordRows;
  readonly #columns: readonly PlanColumns[];
  #versions = 0;

  constructor(kinds: readonly PriceKind[]) {
    const firstSince = FLAGS + Math.max(1, Math.ceil(kinds.length / KINDS_PER_WORD));
    const firstAnswered = firstSince + kinds.length;
    const series = kinds.filter((kind) => kind !== 'overview');
    const words = new WordRows(firstAnswered + series.length);
    this.#words = words;
    this.#columns = kinds.map((kind, at) => ({
      kind,
      words,
      flagsWord: FLAGS + Math.floor(at / KINDS_PER_WORD),
      flagsShift: (at % KINDS_PER_WORD) * PLAN_FLAG_BITS,
      sinceWord: firstSince + at,
      answeredWord: kind === 'overview' ? null : firstAnswered + series.indexOf(kind),
      troubles: new Map(),
    }));
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

  /** False once it has left or has another isin. */
  holds({ row, version }: AskedInstrument): boolean {
    return this.#words.get(row, VERSION) === version;
  }

  /** A new instrument, in the place of the one that the id had, if any. */
  put(id: string, isin: string, sinceMs: number, terms: InstrumentTerms = NO_TERMS): AskedInstrument {
    const isinChanged = this.#keys.find(id) >= 0;
    const row = this.#keys.set(id, isin, terms);
    this.#versions += 1;
    this.#words.set(row, VERSION, this.#versions);
    this.#words.set(row, FLAGS, isinChanged ? ISIN_CHANGED : 0);
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

  /** Of the rows that are asked for; the buffer may be longer. */
  hashes(isAskedFor: (row: number) => boolean): Int32Array<ArrayBuffer> {
    const hashes = new Int32Array(this.size);
    let count = 0;
    for (const row of this.rows()) if (isAskedFor(row)) hashes[count++] = this.hashAt(row);
    return hashes.subarray(0, count);
  }

  #instrument(row: number, id: string, isin: string): AskedInstrument {
    return {
      id,
      isin,
      terms: this.#keys.termsAt(row),
      row,
      version: this.#words.get(row, VERSION),
      isinChanged: (this.#words.get(row, FLAGS) & ISIN_CHANGED) !== 0,
      plans: this.#columns.map((columns) => new RefreshPlan(columns, row)),
    };
  }
}
