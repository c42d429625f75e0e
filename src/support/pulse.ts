import type { Clock } from './clock.ts';
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
    const over = new AbortController();
    const slept = clock.sleep(Math.min(ms, LONGEST_SLEEP_MS), AbortSignal.any([signal, over.signal]));
    slept.catch(() => {});
    try {
      await Promise.race([this.next(signal), slept]);
    } finally {
      over.abort();
    }
  }
}

/** Timers have no longer waits; the caller looks again afterwards. */
const LONGEST_SLEEP_MS = 2 ** 30;
