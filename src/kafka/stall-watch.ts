import type { Clock } from '../support/clock.ts';

/** Aborts its signal when there was no progress for a while. `end` stops its timer. */
export class StallWatch {
  readonly #stalled = new AbortController();
  readonly #ended = new AbortController();
  readonly #clock: Clock;
  #movedAtMs: number;
  #held = 0;

  constructor(stallMs: number, clock: Clock) {
    this.#clock = clock;
    this.#movedAtMs = clock.monotonicMs();
    this.#watch(stallMs).catch(() => {});
  }

  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  moved(): void {
    this.#movedAtMs = this.#clock.monotonicMs();
  }

  /** Pauses the watch while the caller waits for something else; until it resolves, silence is not a stall. */
  async whileHeld(wait: Promise<void>): Promise<void> {
    this.#held += 1;
    try {
      await wait;
    } finally {
      this.#held -= 1;
      this.moved();
    }
  }

  end(): void {
    this.#ended.abort();
  }

  async #watch(stallMs: number): Promise<void> {
    for (;;) {
      if (this.#held > 0) this.moved();
      const leftMs = this.#movedAtMs + stallMs - this.#clock.monotonicMs();
      if (leftMs <= 0) break;
      await this.#clock.sleep(leftMs, this.#ended.signal);
    }
    this.#stalled.abort(new Error(`nothing came for ${stallMs} ms`));
  }
}
