import { ConnectorError, type ErrorAction } from '../errors.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';

/** What a failed poll waits before it is tried again. An action without a row here ends the source. */
const POLL_BACK_OFF: Readonly<Partial<Record<ErrorAction, BackOff>>> = {
  retry: { initialMs: 500, maximumMs: 60_000 },
  askForLess: { initialMs: 100, maximumMs: 60_000 },
  retrySlowly: { initialMs: 10_000, maximumMs: 300_000 },
};

/**
 * @param failures in a row, this one included
 * @returns how long to wait before the next try
 * @throws the error itself when no repetition mends it
 */
export function pollWaitMs(error: unknown, failures: number, random: Random): number {
  const backOff = error instanceof ConnectorError ? POLL_BACK_OFF[error.action] : undefined;
  if (!(error instanceof ConnectorError) || backOff === undefined) throw error;
  return Math.max(error.retryAfterMs ?? 0, backOffMs(failures, backOff, random));
}
