import type { SimulatedPreTradeChecks } from '../pre-trade-checks.ts';
import type { InstrumentText } from '../universe/instrument-text.ts';
import { LIST_FORM } from '../universe/text-template.ts';
import type { Universe } from '../universe/universe.ts';
import type { EventLog } from './event-log.ts';
import { offsetText } from './event-log.ts';
import type { EventText } from './event-text.ts';
import type { PriceLedger, ServedPrices } from './price-ledger.ts';

/** An instrument as the list serves it. */
export interface LedgerInstrument {
  /** Decimal text, since some ids are beyond what a number holds. */
  readonly id: string;
  /** The exact JSON text, in one line. */
  readonly text: string;
}

export interface LedgerEvent {
  readonly offset: string;
  readonly publishedAtMs: number;
  readonly type: string;
  readonly id: string;
  /** Filtered out for everyone: it has an offset, but no client receives it. */
  readonly hidden: boolean;
  /** The exact JSON text of the envelope, in one line. */
  readonly text: string;
}

export interface LedgerCheck {
  readonly preTradeCheckId: string;
  readonly offset: string;
  readonly text: string;
}

/** Which part of the universe or stream is meant: the same filters as of the endpoints. */
export interface LedgerFilter {
  readonly mine?: boolean;
  readonly legalCountry?: string;
}

/** The truth against which a test compares what arrived. Faults and lags do not show in it. */
export interface Ledger {
  /** The universe as it is now, ascending by id. */
  instruments(filter?: LedgerFilter): Iterable<LedgerInstrument>;
  /** Every event ever published, oldest first, those whose retention ran out and hidden ones included. */
  events(filter?: LedgerFilter): Iterable<LedgerEvent>;
  checks(): Iterable<LedgerCheck>;
  prices(): Iterable<ServedPrices>;
  /** Those of one isin; undefined when none was served. */
  pricesOf(isin: string): ServedPrices | undefined;
  /** Ids, as decimal text, of rows that a fault changed before they were served. */
  poisonedIds(): Iterable<string>;
}

export function createLedger(parts: {
  universe: Universe;
  text: InstrumentText;
  log: EventLog;
  eventText: EventText;
  checks: SimulatedPreTradeChecks;
  prices: PriceLedger;
  poisoned: ReadonlySet<bigint>;
}): Ledger {
  const { universe, text, log, eventText, checks, prices, poisoned } = parts;
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
          // Written when it is read: who looks for the newest events passes over thousands of others.
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
    *poisonedIds() {
      for (const id of poisoned) yield String(id);
    },
  };
}
