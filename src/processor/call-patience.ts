import type { Clock } from '../support/clock.ts';

/** Before any call was answered. */
const FIRST_MS = 10_000;
const LEAST_MS = 3_000;
/** A call may take so many times as long as the slowest one of late. */
const TIMES_SLOWEST = 4;
const REMEMBERED_MS = 10 * 60_000;

/**
 * How long the answer to a call is waited for before some item of it is suspected to hang it. An hour's time-out would
 * leave its neighbours without prices for as long; one that is too short would suspect a provider that is only slow.
 */
export class CallPatience {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #slowestMs = 0;
  #slowestBeforeMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Whole milliseconds: timers take no others. */
  get ms(): number {
    this.#forget();
    const slowestMs = Math.max(this.#slowestMs, this.#slowestBeforeMs);
    return slowestMs === 0 ? FIRST_MS : Math.max(LEAST_MS, Math.ceil(slowestMs * TIMES_SLOWEST));
  }

  /** A call was answered after so long. */
  took(ms: number): void {
    this.#forget();
    this.#slowestMs = Math.max(this.#slowestMs, ms, 1);
  }

  /** It was too short: what was suspected was not to blame. */
  stretch(): void {
    this.took(this.ms);
  }

  #forget(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#sinceMs + REMEMBERED_MS) return;
    this.#slowestBeforeMs = nowMs < this.#sinceMs + 2 * REMEMBERED_MS ? this.#slowestMs : 0;
    this.#slowestMs = 0;
    this.#sinceMs = nowMs;
  }
}
