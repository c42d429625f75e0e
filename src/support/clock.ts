import type { Random } from './back-off.ts';

/** All code that waits or reads the time receives a Clock. */
export interface Clock {
  /** Milliseconds since the epoch. The wall clock jumps when it is set. */
  wallMs(): number;
  /** Milliseconds since an arbitrary start. The monotonic clock never jumps. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  },
};

export const systemRandom: Random = Math.random;

/** Calls `action` after `ms` milliseconds. The timer does not keep the process alive. */
export function afterwards(ms: number, action: () => void): void {
  setTimeout(action, ms).unref();
}
