import { murmur2 } from '../../kafka/partitioner.ts';
import type { PriceKind } from '../bulk-prices.ts';
import { type Instrument, newInstrument } from './instrument.ts';

/** The instruments of one partition that have an isin. */
export class InstrumentTable {
  readonly #instruments = new Map<string, Instrument>();
  readonly #kinds: readonly PriceKind[];

  constructor(kinds: readonly PriceKind[]) {
    this.#kinds = kinds;
  }

  get size(): number {
    return this.#instruments.size;
  }

  values(): Iterable<Instrument> {
    return this.#instruments.values();
  }

  get(id: string): Instrument | undefined {
    return this.#instruments.get(id);
  }

  /** Whether this very instrument is still in the table, with the isin that it had. */
  holds(instrument: Instrument): boolean {
    return this.#instruments.get(instrument.id) === instrument;
  }

  /** A new instrument, in the place of the one that the id had, if any. */
  put(id: string, isin: string, sinceMs: number): Instrument {
    const hash = murmur2(Buffer.from(id, 'utf8')) & 0x7fffffff;
    const isinChanged = this.#instruments.has(id);
    const instrument = newInstrument({ id, isin, hash, sinceMs, isinChanged, kinds: this.#kinds });
    this.#instruments.set(id, instrument);
    return instrument;
  }

  delete(id: string): void {
    this.#instruments.delete(id);
  }

  hashes(): Int32Array {
    const hashes = new Int32Array(this.#instruments.size);
    let at = 0;
    for (const { hash } of this.#instruments.values()) hashes[at++] = hash;
    return hashes;
  }
}
