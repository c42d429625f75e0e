import type { PriceProblem } from '../../observability/processor-events.ts';
import type { Withdrawal } from './core-messages.ts';
import type { AskedInstrument } from './instrument.ts';
import type { RefreshPlan } from './refresh-plan.ts';

/** What the provider says once and means: it does not know the product, or has it no longer. */
const DEFINITE: readonly PriceProblem[] = ['status 404', 'status 410'];

/**
 * Whether a failure takes away the price that the topic shows. The price of an earlier isin always goes: it is that of
 * another product. A price of this isin goes only when the provider says that there is none, or twice in a row says
 * nothing: any other failure may pass, and until then the price stays, with its time.
 */
export function withdrawalOf(instrument: AskedInstrument, plan: RefreshPlan, problem: PriceProblem): Withdrawal | null {
  switch (plan.shown) {
    case 'nothing':
      return null;
    case 'unproven':
      return withdrawalUnanswered(instrument, plan);
    case 'own': {
      const isSilent = problem === 'none' && plan.problem === 'none';
      return DEFINITE.includes(problem) || isSilent ? 'no-price' : null;
    }
  }
}

/**
 * What goes when a record is answered, or left behind, without an answer for its instrument: a new process takes what the
 * topic shows then for a price of the isin that the record gives, so the price of an earlier one has to be gone.
 */
export function withdrawalUnanswered({ isinChanged }: AskedInstrument, { shown }: RefreshPlan): Withdrawal | null {
  if (shown !== 'unproven') return null;
  return isinChanged ? 'isin-changed' : 'no-price';
}
