import type { RefreshPlan } from './instrument.ts';

const DAY_MS = 86_400_000;
/** The wall clock is looked at no more often: it is asked for with each instrument. */
const LOOK_EVERY_MS = 60_000;

/**
 * When an instrument counts as repaid. Days end at midnight UTC; times are monotonic milliseconds. The wall clock may be
 * wrong when the process starts, and be corrected later.
 */
export class Repayment {
  readonly #repaidAfterMs: number;
  readonly #look: () => number;
  #epochMs = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;

  /** @param options.epochMs the wall clock at the monotonic time 0, by what the wall clock says now. */
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

  /** The day of the repayment has begun: when the provider has no price any more, that is why. */
  hasCome(day: number | null, nowMs: number): boolean {
    return day !== null && day * DAY_MS <= nowMs + this.epochMs(nowMs);
  }

  /** It is so long ago that the instrument is asked for once a day. */
  isLongPast(day: number | null, nowMs: number, epochMs = this.epochMs(nowMs)): boolean {
    return day !== null && day * DAY_MS <= nowMs + epochMs - this.#repaidAfterMs;
  }
}

/**
 * The state of an instrument for one kind: the one definition for page, status, metrics and demo.
 * - `repaid`: repaid long ago and requested once a day; or its day has come, and the provider has no price any more.
 * - `failing`: the last request got no price.
 * - `priced`: the last request got a price.
 * - `waiting`: this process has not requested it yet.
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
