import type { RefreshPlan } from './refresh-plan.ts';
import type { Repayment } from './repayment.ts';

/**
 * What an instrument is for one kind of prices, the one definition for page, status, metrics and demo: exactly one of
 * these.
 * - `repaid`: its repayment is long past, so that it is asked for once a day; or its day has come, and the provider has no
 *   price any more.
 * - `failing`: the last request got no price.
 * - `priced`: the last request got a price.
 * - `waiting`: this process has not asked for it yet.
 */
export type PriceState = 'repaid' | 'failing' | 'priced' | 'waiting';

export function priceState(
  { problem, isPriced }: Pick<RefreshPlan, 'problem' | 'isPriced'>,
  repaymentDay: number | null,
  repayment: Repayment,
  nowMs: number,
): PriceState {
  if (repayment.isLongPast(repaymentDay, nowMs)) return 'repaid';
  if (problem === null) return isPriced ? 'priced' : 'waiting';
  return saysThatThereIsNone(problem) && repayment.hasCome(repaymentDay, nowMs) ? 'repaid' : 'failing';
}

/** Any other problem is none of the product. */
function saysThatThereIsNone(problem: NonNullable<RefreshPlan['problem']>): boolean {
  return problem === 'status 404' || problem === 'status 410' || problem === 'none';
}
