import type { PriceProblem } from '../../observability/processor-events.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { Due } from './due-queue.ts';

/**
 * An instrument of the table with the isin that it is asked for by. Another isin makes another instrument of it, also
 * under the same id: whoever holds the old one sees by comparing that it no longer counts.
 */
export interface Instrument {
  /** Decimal digits. */
  readonly id: string;
  readonly isin: string;
  /** Of the id: where in each interval the instrument is refreshed. */
  readonly hash: number;
  readonly sinceMs: number;
  /** One for each kind, in the order of the settings. */
  readonly plans: readonly Plan[];
}

/** When an instrument is asked for next for one kind, and what became of it so far. Times are monotonic milliseconds. */
export interface Plan extends Due {
  readonly kind: PriceKind;
  readonly instrument: Instrument;
  /** Null: not priced yet, in this process. */
  pricedAtMs: number | null;
  pulled: boolean;
  /** In a row. */
  failures: number;
  problem: PriceProblem | null;
}

export function newInstrument(options: {
  readonly id: string;
  readonly isin: string;
  readonly hash: number;
  readonly sinceMs: number;
  readonly kinds: readonly PriceKind[];
}): Instrument {
  const { kinds, ...own } = options;
  const plans: Plan[] = [];
  const instrument = { ...own, plans };
  for (const kind of kinds) {
    plans.push({
      kind,
      instrument,
      dueMs: 0,
      place: -1,
      pricedAtMs: null,
      pulled: false,
      failures: 0,
      problem: null,
    });
  }
  return instrument;
}
