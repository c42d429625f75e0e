import { ConnectorError } from '../errors.ts';
import { type BackOff, backOffMs, type Random, SLOW_BACK_OFF } from './back-off.ts';
import type { Clock } from './clock.ts';

/** A failed attempt, which is repeated after `waitMs`. `failures`: consecutive failures, including this failure. */
export interface FailedAttempt {
  readonly failures: number;
  readonly waitMs: number;
  readonly err: Error;
}

export interface RetryOptions {
  readonly backOff: BackOff;
  /** The maximum number of attempts; absent: attempts continue until the signal aborts. */
  readonly attempts?: number;
  /** True if a retry can help; by default, true for errors with the action `retry`. */
  readonly mayRetry?: (error: unknown) => boolean;
  readonly attemptFailed?: (failed: FailedAttempt) => void;
  /** If an attempt lasts longer than this, its failure counts as the first failure again. */
  readonly forgetAfterMs?: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly random: Random;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Repeats failed attempts. Waits at least the error's `retryAfterMs`, and longer after errors with the action `retrySlowly`.
 * @throws the last error or the signal's reason
 */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { backOff, attempts = Number.POSITIVE_INFINITY, mayRetry = isPassing, clock, random, signal } = options;
  const { forgetAfterMs = Number.POSITIVE_INFINITY } = options;
  for (let failures = 1; ; failures++) {
    const startedMs = clock.monotonicMs();
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (failures >= attempts || !mayRetry(error)) throw error;
      if (clock.monotonicMs() - startedMs > forgetAfterMs) failures = 1;
      const { action, retryAfterMs = 0 } = error instanceof ConnectorError ? error : {};
      const waits = action === 'retrySlowly' ? SLOW_BACK_OFF : backOff;
      const waitMs = Math.max(retryAfterMs, backOffMs(failures, waits, random));
      options.attemptFailed?.({ failures, waitMs, err: error as Error });
      await clock.sleep(waitMs, signal);
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof ConnectorError && error.action === 'retry';
}
