import type { InstrumentTerms } from '../../avro/instrument-terms.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { RefreshPlan } from './refresh-plan.ts';

/**
 * An instrument of the table with the isin that it is asked for by. Another isin makes another instrument of it, also
 * under the same id: `InstrumentTable.holds` says that the old one no longer counts.
 */
export interface AskedInstrument {
  /** Decimal digits. */
  readonly id: string;
  readonly isin: string;
  readonly terms: InstrumentTerms;
  /** Its place in the table. */
  readonly row: number;
  /** No other instrument of the table has or had it. */
  readonly version: number;
  /** Whether the id had another isin before, as far as this process knows. */
  readonly isinChanged: boolean;
  /** One for each kind, in the order of the settings. */
  readonly plans: readonly RefreshPlan[];
}

/**
 * When an instrument was priced and how it fails outlives the writer: what is not answered for hours is as old as that,
 * however often the writer was opened meanwhile.
 */
export function carryOver(from: AskedInstrument, to: AskedInstrument): void {
  for (const [at, { isPriced, sinceMs, pulled, failures, problem }] of from.plans.entries()) {
    const plan = to.plans[at];
    if (plan !== undefined) Object.assign(plan, { isPriced, sinceMs, pulled, failures, problem });
  }
}

export function planOf({ plans }: AskedInstrument, wanted: PriceKind): RefreshPlan {
  const plan = plans.find(({ kind }) => kind === wanted);
  if (plan === undefined) throw new RangeError(`The instrument is not asked for ${wanted}.`);
  return plan;
}
