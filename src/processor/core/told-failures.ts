import type { PriceProblem } from '../../observability/processor-events.ts';
import type { PriceKind } from '../bulk-prices.ts';

/** Beyond this the oldest are forgotten, and told again. */
const MAXIMUM_TOLD = 200_000;

/**
 * Which failures of instruments are dead letters already. An instrument that fails for days would otherwise fill the
 * dead letters with one record per refresh. One that went
 * from one problem to another is a dead letter for each, once.
 */
export class ToldFailures {
  readonly #told = new Set<string>();

  has(kind: PriceKind, id: string, problem: PriceProblem): boolean {
    return this.#told.has(`${kind} ${id} ${problem}`);
  }

  add(kind: PriceKind, id: string, problem: PriceProblem): void {
    this.#told.add(`${kind} ${id} ${problem}`);
    const oldest = this.#told.size > MAXIMUM_TOLD ? this.#told.values().next().value : undefined;
    if (oldest !== undefined) this.#told.delete(oldest);
  }
}
