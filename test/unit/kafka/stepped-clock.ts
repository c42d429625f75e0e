import type { Clock } from '../../../src/support/clock.ts';

/** A clock that stands still until it is moved; sleeps end when it passes their time. */
export class SteppedClock implements Clock {
  #nowMs = 0;
  readonly #sleepers = new Map<() => void, number>();

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** How many sleeps are waiting: a test that ends with one has leaked a timer. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const wake = () => {
        this.#sleepers.delete(wake);
        resolve();
      };
      this.#sleepers.set(wake, this.#nowMs + ms);
      signal?.addEventListener('abort', () => {
        this.#sleepers.delete(wake);
        reject(signal.reason);
      });
    });
  }

  /** Moves the time, waking every sleeper on the way, and lets everything run that this set going. */
  async advance(ms: number): Promise<void> {
    await settle();
    const endMs = this.#nowMs + ms;
    for (;;) {
      const due = [...this.#sleepers].filter(([, atMs]) => atMs <= endMs).sort(([, a], [, b]) => a - b)[0];
      if (due === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, due[1]);
      due[0]();
      await settle();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

/** Lets every promise that can settle do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
