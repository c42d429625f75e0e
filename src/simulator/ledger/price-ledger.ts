import type { SimulatedPriceQuery } from '../price-query.ts';
import type { PriceWriter } from '../universe/prices.ts';

/** One answer with prices, as it was served. */
export interface ServedPrice {
  readonly kind: SimulatedPriceQuery['kind'];
  /** Simulated time of the response, milliseconds since the epoch. */
  readonly atMs: number;
  /** The exact JSON text of the typed response. */
  readonly text: string;
}

/** Prices served for one ISIN. */
export interface ServedPrices {
  readonly isin: string;
  /** All answers with a price, also those that are no longer remembered. */
  readonly served: number;
  /** The newest answers, oldest first. */
  readonly last: readonly ServedPrice[];
}

export interface PriceLedger {
  /** Writes a response and remembers how to write it again. */
  serve(isin: string, writer: PriceWriter, key: number, query: SimulatedPriceQuery, atMs: number): string;
  of(isin: string): ServedPrices | undefined;
  all(): Iterable<ServedPrices>;
}

type Written = Omit<ServedPrice, 'text'> & { readonly write: () => string };

/** How many ISINs are remembered; the oldest go first. */
const MAX_ISINS = 1_000_000;

/** Remembers the newest `kept` answers per ISIN as functions, a few words each, and not as texts. */
export function createPriceLedger(kept: number): PriceLedger {
  const served = new Map<string, { count: number; last: Written[] }>();
  const shown = (isin: string, { count, last }: { count: number; last: Written[] }): ServedPrices => ({
    isin,
    served: count,
    last: last.map(({ kind, atMs, write }) => ({ kind, atMs, text: write() })),
  });
  return {
    serve(isin, writer, key, query, atMs) {
      const entry = served.get(isin) ?? { count: 0, last: [] };
      entry.count += 1;
      entry.last.push({ kind: query.kind, atMs, write: () => writer(key, query, atMs) });
      if (entry.last.length > kept) entry.last.shift();
      served.set(isin, entry);
      const oldest = served.size > MAX_ISINS ? served.keys().next().value : undefined;
      if (oldest !== undefined) served.delete(oldest);
      return writer(key, query, atMs);
    },
    of(isin) {
      const entry = served.get(isin);
      return entry && shown(isin, entry);
    },
    *all() {
      for (const [isin, entry] of served) yield shown(isin, entry);
    },
  };
}
