import type { Clock } from '../support/clock.ts';
import type { PriceKind } from './bulk-prices.ts';

/** A limit is learnt from refusals that may have had another reason: after this it is tried without again. */
const HOLDS_MS = 60 * 60_000;

/** Of so many items, when it was asked for. */
export interface RefusedCall {
  readonly refused: number;
  readonly askedMs: number;
}

/** A batch was refused for what may be its size, or for a reason that passed. */
interface Doubt {
  readonly sinceMs: number;
  /** The largest batch that was answered since. */
  answered: number;
}

/** The largest batch that the provider takes, for each kind, as far as its refusals have shown. */
export class BulkLimits {
  readonly #configured: number;
  readonly #clock: Clock;
  readonly #learnt = new Map<PriceKind, { readonly items: number; readonly untilMs: number }>();
  readonly #doubts = new Map<PriceKind, Doubt>();

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
    const doubt = this.#doubts.get(kind);
    if (doubt !== undefined) doubt.answered = Math.max(doubt.answered, items);
  }

  /**
   * A batch of `refused` was refused, and its parts of `items` were answered. The refusal may have passed by itself, for
   * all calls that were in flight with it: so the limit is learnt from the next one that is asked for after that, unless
   * as many were answered in between. A limit of a few items costs thousands of calls.
   *
   * @returns whether this is news.
   */
  learn(kind: PriceKind, items: number, { refused, askedMs }: RefusedCall): boolean {
    const doubt = this.#doubts.get(kind);
    const nowMs = this.#clock.monotonicMs();
    if (doubt === undefined || doubt.answered >= refused) {
      this.#doubts.set(kind, { sinceMs: nowMs, answered: items });
      return false;
    }
    if (askedMs < doubt.sinceMs || items >= this.of(kind)) return false;
    this.#doubts.delete(kind);
    this.#learnt.set(kind, { items, untilMs: nowMs + HOLDS_MS });
    return true;
  }
}
