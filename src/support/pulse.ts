import type { Clock } from './clock.ts';
import { within } from './deadline.ts';
import { untilAborted } from './until-aborted.ts';

/** Lets loops wait for a change. None is lost between looking and waiting, since nothing else runs between them. */
export class Pulse {
  #next = Promise.withResolvers<void>();

  notify(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers<void>();
  }

  /** Resolves at the next notification; rejects with the signal's reason when it aborts first. */
  next(signal: AbortSignal): Promise<void> {
    return untilAborted(this.#next.promise, signal);
  }

  /** As `next`, but after `ms` milliseconds at the latest; `ms` may be infinite. */
  async within(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (ms === Number.POSITIVE_INFINITY) return this.next(signal);
    await within(this.next(signal), Math.min(ms, LONGEST_SLEEP_MS), clock, () => OVER).catch((error: unknown) => {
      if (error !== OVER) throw error;
    });
  }
}

const OVER = new Error('The time is over.');
/** Timers have no longer waits; the caller looks again afterwards. */
const LONGEST_SLEEP_MS = 2 ** 30;
