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
  /** Whether the id had another isin before, as far as this process knows. */
  readonly isinChanged: boolean;
  /** One for each kind, in the order of the settings. */
  readonly plans: readonly Plan[];
}

/**
 * What the topic of prices shows of an instrument: perhaps a price of an earlier isin, as long as nothing is answered for
 * this one; at most a price of this isin; or nothing, since a tombstone was written.
 */
export type Shown = 'unproven' | 'own' | 'nothing';

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
  shown: Shown;
  /** Answers that it owes, each to a call for it alone, before it shares a call again: it has spoilt one. */
  suspicion: number;
}

export function newInstrument(options: {
  readonly id: string;
  readonly isin: string;
  readonly hash: number;
  readonly sinceMs: number;
  readonly isinChanged: boolean;
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
      shown: 'unproven',
      suspicion: 0,
    });
  }
  return instrument;
}

/**
 * When an instrument was priced and how it fails outlives the writer: what is not answered for hours is as old as that,
 * however often the writer was opened meanwhile.
 */
export function carryOver(from: Instrument, to: Instrument): void {
  for (const [at, { pricedAtMs, pulled, failures, problem }] of from.plans.entries()) {
    const plan = to.plans[at];
    if (plan !== undefined) Object.assign(plan, { pricedAtMs, pulled, failures, problem });
  }
}

export function planOf({ plans }: Instrument, wanted: PriceKind): Plan {
  const plan = plans.find(({ kind }) => kind === wanted);
  if (plan === undefined) throw new RangeError(`The instrument is not asked for ${wanted}.`);
  return plan;
}
