const DAY_MS = 86_400_000;

/** When an instrument counts as repaid. Days end at midnight UTC; times are monotonic milliseconds. */
export class Repayment {
  readonly #repaidAfterMs: number;
  readonly #epochMs: number;

  constructor({ repaidAfterMs, epochMs }: { readonly repaidAfterMs: number; readonly epochMs: number }) {
    this.#repaidAfterMs = repaidAfterMs;
    this.#epochMs = epochMs;
  }

  /** The day of the repayment has begun: when the provider has no price any more, that is why. */
  hasCome(day: number | null, nowMs: number): boolean {
    return day !== null && day * DAY_MS <= nowMs + this.#epochMs;
  }

  /** It is so long ago that the instrument is asked for once a day. */
  isLongPast(day: number | null, nowMs: number): boolean {
    return this.hasCome(day, nowMs - this.#repaidAfterMs);
  }
}
