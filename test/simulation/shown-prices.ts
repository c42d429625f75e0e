import type { CoreResult } from '../../src/prices/core/core-messages.ts';

type Failure = Extract<CoreResult, { readonly kind: 'failure' }>;

/** What a consumer of the topic of prices sees of each instrument, and when a price may be taken away. */
export class ShownPrices {
  /** The isin of the price that is shown for an id, whether or not it is still its own. */
  readonly #shown = new Map<string, string>();
  /** Ids whose price this process took away, until it writes another, with the isin that has none. */
  readonly #withdrawn = new Map<string, string>();

  /** Since when the price that is shown is known to be that of another isin. */
  readonly #strangers = new Map<string, { readonly isin: string; readonly sinceMs: number }>();

  priced(id: string, isin: string): void {
    this.takenAway(id);
    this.#shown.set(id, isin);
  }

  takenAway(id: string): void {
    this.#shown.delete(id);
    this.#withdrawn.delete(id);
  }

  withdrawn(id: string, isin: string): void {
    this.takenAway(id);
    this.#withdrawn.set(id, isin);
  }

  /** A new process knows of no tombstone. */
  crashed(): void {
    this.#withdrawn.clear();
    this.#strangers.clear();
  }

  /** Prices of another isin than the table gives, which have stood for too long though this process knew it. */
  overdue(table: ReadonlyMap<string, string>, nowMs: number, patienceMs: number): string[] {
    for (const [id, { isin }] of [...this.#strangers]) {
      if (this.#shown.get(id) !== isin || table.get(id) === isin) this.#strangers.delete(id);
    }
    for (const [id, isin] of this.#shown) {
      if (table.get(id) !== isin && !this.#strangers.has(id)) this.#strangers.set(id, { isin, sinceMs: nowMs });
    }
    return [...this.#strangers]
      .filter(([, { sinceMs }]) => nowMs > sinceMs + patienceMs)
      .map(([id, { isin }]) => `the price of ${isin} still stands for ${id}, which is ${table.get(id)}`);
  }

  /** What is wrong about what a failure does: a price stays until the provider says that there is none, and goes once. */
  violationsOf({ instrument: { id, isin }, problem, withdrawal, offsets }: Failure): string[] {
    const isRefresh = offsets.length === 0;
    const isReported = this.#withdrawn.get(id) === isin;
    const mayPass = problem !== 'status 404' && problem !== 'none';
    const violations: string[] = [];
    if (isRefresh && withdrawal !== null && isReported) violations.push(`the price of ${id} is taken away twice`);
    if (isRefresh && withdrawal !== null && mayPass && this.#shown.get(id) === isin)
      violations.push(`the price of ${id} goes for ${problem}, which may pass`);
    if (withdrawal === null && problem === 'status 404' && !isReported)
      violations.push(`the provider has no price for ${id}, and that is not shown`);
    return violations;
  }

  /** Prices of another isin than the answered records give; `isAnswered` says that no later record is still to come. */
  strangers(table: ReadonlyMap<string, string>, isAnswered: (id: string) => boolean): string[] {
    return [...this.#shown]
      .filter(([id, isin]) => table.get(id) !== isin && isAnswered(id))
      .map(([id, isin]) => `the price of ${isin} is shown for ${id}, which is ${table.get(id)}`);
  }
}
