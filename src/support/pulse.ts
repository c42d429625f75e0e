import type { Clock } from './clock.ts';
import { within } from './deadline.ts';
import { untilAborted } from './until-aborted.ts';

/** Wakes loops that wait for a change. A loop must look at the state and then call `next`, without an `await` between. */
export class Pulse {
  #next = Promise.withResolvers<void>();

  notify(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers<void>();
  }

  /** Resolves at the next notification; rejects with the signal's reason if the signal aborts first. */
  next(signal: AbortSignal): Promise<void> {
    return untilAborted(this.#next.promise, signal);
  }

  /** Like `next`, but resolves after `ms` milliseconds at most; `ms` can be infinite. */
  async within(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (ms === Number.POSITIVE_INFINITY) return this.next(signal);
    await within(this.next(signal), Math.min(ms, LONGEST_SLEEP_MS), clock, () => OVER).catch((error: unknown) => {
      if (error !== OVER) throw error;
    });
  }
}

const OVER = new Error('The time is over.');
/** A timer of Node.js cannot wait longer than 2^31 ms. So a longer wait ends early, and the caller must wait again. */
const LONGEST_SLEEP_MS = 2 ** 30;
