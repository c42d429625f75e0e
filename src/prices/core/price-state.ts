import type { RefreshPlan } from './instrument.ts';

const DAY_MS = 86_400_000;
/** The shortest time between two readings of the wall clock. `epochMs` is called often, for each instrument. */
const LOOK_EVERY_MS = 60_000;

/**
 * Decides when an instrument counts as repaid. Days begin at midnight UTC; times are monotonic milliseconds. The wall
 * clock may be wrong when the process starts, and is then corrected later.
 */
export class Repayment {
  readonly #repaidAfterMs: number;
  readonly #look: () => number;
  #epochMs = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;

  /** @param options.epochMs returns the current difference between the wall clock and the monotonic clock. */
  constructor({ repaidAfterMs, epochMs }: { readonly repaidAfterMs: number; readonly epochMs: () => number }) {
    this.#repaidAfterMs = repaidAfterMs;
    this.#look = epochMs;
  }

  epochMs(nowMs: number): number {
    if (nowMs >= this.#lookedMs + LOOK_EVERY_MS) {
      this.#epochMs = this.#look();
      this.#lookedMs = nowMs;
    }
    return this.#epochMs;
  }

  /** True if the repayment day has begun. Then it is normal that the provider has no price. */
  hasCome(day: number | null, nowMs: number): boolean {
    return day !== null && day * DAY_MS <= nowMs + this.epochMs(nowMs);
  }

  /** True if the repayment is so long ago that the instrument is requested only once a day. */
  isLongPast(day: number | null, nowMs: number, epochMs = this.epochMs(nowMs)): boolean {
    return day !== null && day * DAY_MS <= nowMs + epochMs - this.#repaidAfterMs;
  }
}

/**
 * The state of an instrument for one kind. Page, status, metrics and demo use this definition.
 * - `repaid`: repaid long ago and requested once a day; or the repayment day has begun and the provider has no price.
 * - `failing`: the last request got no price.
 * - `priced`: the last request got a price.
 * - `waiting`: this process has no result yet.
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

export function saysThatThereIsNone(problem: NonNullable<RefreshPlan['problem']>): boolean {
  return problem === 'status 404' || problem === 'status 410' || problem === 'none';
}
