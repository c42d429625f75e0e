import type { SimulatedPreTradeChecks } from '../pre-trade-checks.ts';
import type { SimulatedPriceQuery } from '../price-query.ts';
import type { InstrumentText } from '../universe/instrument-text.ts';
import type { PriceWriter } from '../universe/prices.ts';
import { LIST_FORM } from '../universe/text-template.ts';
import type { Universe } from '../universe/universe.ts';
import { type EventLog, type EventText, offsetText } from './event-log.ts';

interface LedgerInstrument {
  readonly id: string;
  readonly text: string;
}

interface LedgerEvent {
  readonly offset: string;
  readonly publishedAtMs: number;
  readonly type: string;
  readonly id: string;
  /** True: the event has an offset, but no client receives it. */
  readonly hidden: boolean;
  readonly text: string;
}

interface LedgerCheck {
  readonly preTradeCheckId: string;
  readonly offset: string;
  readonly text: string;
}

export interface LedgerFilter {
  readonly mine?: boolean;
  readonly legalCountry?: string;
}

/**
 * The data that the simulated provider really has. Tests compare the received data with the ledger. Faults and lags
 * do not change the ledger.
 */
export interface Ledger {
  instruments(filter?: LedgerFilter): Iterable<LedgerInstrument>;
  /** Every published event, oldest first, including expired and hidden events. */
  events(filter?: LedgerFilter): Iterable<LedgerEvent>;
  checks(): Iterable<LedgerCheck>;
  prices(): Iterable<ServedPrices>;
  pricesOf(isin: string): ServedPrices | undefined;
}

export function createLedger(parts: {
  universe: Universe;
  text: InstrumentText;
  log: EventLog;
  eventText: EventText;
  checks: SimulatedPreTradeChecks;
  prices: PriceLedger;
}): Ledger {
  const { universe, text, log, eventText, checks, prices } = parts;
  return {
    *instruments(filter = {}) {
      for (const { id, version } of universe.members(0n)) {
        if (filter.mine && !text.isMine(id)) continue;
        if (filter.legalCountry !== undefined && text.legalCountry(id, version) !== filter.legalCountry) continue;
        yield { id: String(id), text: text.write(id, version, LIST_FORM) };
      }
    },
    *events(filter = {}) {
      for (const entry of log.all()) {
        const { id, version, type, publishedAtMs, hidden, raw } = entry;
        const isWritten = raw === null && !hidden;
        if (isWritten && filter.mine && !text.isMine(id)) continue;
        if (isWritten && filter.legalCountry !== undefined && text.legalCountry(id, version) !== filter.legalCountry)
          continue;
        yield {
          offset: offsetText(entry.offset),
          publishedAtMs,
          type,
          id: String(id),
          hidden,
          // Writes the text only when a test reads it, because most events are skipped.
          get text() {
            return hidden ? 'null' : eventText.write(entry);
          },
        };
      }
    },
    *checks() {
      for (const check of checks.all()) {
        const { preTradeCheckId, offset } = check;
        yield { preTradeCheckId, offset: offsetText(offset), text: checks.write(check) };
      }
    },
    prices: () => prices.all(),
    pricesOf: (isin) => prices.of(isin),
  };
}

interface ServedPrice {
  readonly kind: SimulatedPriceQuery['kind'];
  readonly atMs: number;
  readonly text: string;
}

interface ServedPrices {
  readonly isin: string;
  /** The number of all responses with a price, including those that `last` no longer contains. */
  readonly served: number;
  readonly last: readonly ServedPrice[];
}

export interface PriceLedger {
  serve(isin: string, writer: PriceWriter, key: number, query: SimulatedPriceQuery, atMs: number): string;
  of(isin: string): ServedPrices | undefined;
  all(): Iterable<ServedPrices>;
}

type Written = Omit<ServedPrice, 'text'> & { readonly write: () => string };

const MAX_ISINS = 1_000_000;

/** Remembers the newest `kept` responses of each ISIN, as functions: they need less memory than texts. */
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
