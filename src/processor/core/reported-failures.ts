import type { PriceProblem } from '../../observability/processor-events.ts';
import type { PriceKind } from '../bulk-prices.ts';

/** Beyond this the oldest are forgotten, and reported again. */
const MOST_REMEMBERED = 200_000;

/**
 * Which failures of instruments are dead letters already. An instrument that fails for days would otherwise fill the dead
 * letters with one record per refresh. One that goes from one problem to another is a dead letter for each, once.
 */
export class ReportedFailures {
  readonly #keys = new Set<string>();

  has(kind: PriceKind, id: string, problem: PriceProblem): boolean {
    return this.#keys.has(`${kind} ${id} ${problem}`);
  }

  add(kind: PriceKind, id: string, problem: PriceProblem): void {
    this.#keys.add(`${kind} ${id} ${problem}`);
    const oldest = this.#keys.size > MOST_REMEMBERED ? this.#keys.values().next().value : undefined;
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}
