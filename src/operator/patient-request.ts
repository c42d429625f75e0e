import { ConnectorError } from '../errors.ts';
import type { BackOff, Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { retry } from '../support/retry.ts';

const BACK_OFF: BackOff = { initialMs: 500, maximumMs: 10_000 };
const MOST_ATTEMPTS = 6;
/** Where the provider asks for more than this, the error is shown instead. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Makes a request for which a user waits: a transient failure, or one that asks for less, is retried a few times.
 *
 * @throws ConnectorError of the last attempt.
 */
export function patiently<Answer>(
  ask: () => Promise<Answer>,
  parts: {
    readonly clock: Clock;
    readonly random: Random;
    readonly signal: AbortSignal;
  },
): Promise<Answer> {
  return retry(ask, { ...parts, backOff: BACK_OFF, attempts: MOST_ATTEMPTS, mayRetry: isWorthWaiting });
}

function isWorthWaiting(error: unknown): boolean {
  if (!(error instanceof ConnectorError) || (error.retryAfterMs ?? 0) > LONGEST_WAIT_MS) return false;
  return error.action === 'retry' || error.action === 'askForLess';
}
