import type { Clock } from '../support/clock.ts';
import type { PriceKind } from './bulk-prices.ts';

/** A limit is learnt from refusals that may have had another reason: after this it is tried without again. */
const HOLDS_MS = 60 * 60_000;

/** The largest batch that the provider takes, for each kind, as far as its refusals have shown. */
export class BulkLimits {
  readonly #configured: number;
  readonly #clock: Clock;
  readonly #learnt = new Map<PriceKind, { readonly items: number; readonly untilMs: number }>();

  constructor(configured: number, clock: Clock) {
    this.#configured = configured;
    this.#clock = clock;
  }

  of(kind: PriceKind): number {
    const learnt = this.#learnt.get(kind);
    if (learnt === undefined || learnt.untilMs <= this.#clock.monotonicMs()) return this.#configured;
    return learnt.items;
  }

  /** @returns whether this is news. */
  learn(kind: PriceKind, items: number): boolean {
    if (items >= this.of(kind)) return false;
    this.#learnt.set(kind, { items, untilMs: this.#clock.monotonicMs() + HOLDS_MS });
    return true;
  }
}
