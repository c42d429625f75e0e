import type { Clock } from '../support/clock.ts';
import type { PriceKind } from './bulk-prices.ts';

/** A limit is learnt from refusals that may have had another reason: after this it is tried without again. */
const HOLDS_MS = 60 * 60_000;

/** The largest batch that the provider takes, for each kind, as far as its refusals have shown. */
export class BulkLimits {
  readonly #configured: number;
  readonly #clock: Clock;
  readonly #learnt = new Map<PriceKind, { readonly items: number; readonly untilMs: number }>();
  /** The largest batch that was answered since a refusal spoke against one of its size. */
  readonly #answered = new Map<PriceKind, number>();

  constructor(configured: number, clock: Clock) {
    this.#configured = configured;
    this.#clock = clock;
  }

  of(kind: PriceKind): number {
    const learnt = this.#learnt.get(kind);
    if (learnt === undefined || learnt.untilMs <= this.#clock.monotonicMs()) return this.#configured;
    return learnt.items;
  }

  answered(kind: PriceKind, items: number): void {
    if (items > (this.#answered.get(kind) ?? 0)) this.#answered.set(kind, items);
  }

  /**
   * A batch of `refused` was refused, and its parts of `items` were answered. Where as many were answered before, the
   * refusal may have passed by itself, and only the next one counts: a limit of a few items would cost thousands of calls.
   *
   * @returns whether this is news.
   */
  learn(kind: PriceKind, items: number, refused: number): boolean {
    const isDoubted = (this.#answered.get(kind) ?? 0) >= refused;
    if (isDoubted) this.#answered.set(kind, items);
    if (isDoubted || items >= this.of(kind)) return false;
    this.#learnt.set(kind, { items, untilMs: this.#clock.monotonicMs() + HOLDS_MS });
    return true;
  }
}
