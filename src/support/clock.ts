/** Time as a collaborator: everything that waits or looks at a clock is given one of these. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. May jump. */
  wallMs(): number;
  /** Monotonic clock, milliseconds since an arbitrary start. Never jumps. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason when it aborts first. */
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

/** Does something after `ms` milliseconds. The timer does not keep the process alive. */
export function afterwards(ms: number, action: () => void): void {
  setTimeout(action, ms).unref();
}
