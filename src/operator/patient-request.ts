import { ConnectorError } from '../errors.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';

const BACK_OFF: BackOff = { initialMs: 500, maximumMs: 10_000 };
const MOST_ATTEMPTS = 6;
/** Where the provider asks for more than this, the error is shown instead. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Makes a request that someone waits for: what passes, or asks for less, is tried again a few times.
 *
 * @throws ConnectorError of the last attempt.
 */
export async function patiently<Answer>(
  ask: () => Promise<Answer>,
  parts: {
    readonly clock: Clock;
    readonly random: Random;
    readonly signal: AbortSignal;
  },
): Promise<Answer> {
  const { clock, random, signal } = parts;
  for (let attempts = 1; ; attempts++) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ConnectorError) || attempts === MOST_ATTEMPTS) throw error;
      if (error.action !== 'retry' && error.action !== 'askForLess') throw error;
      if ((error.retryAfterMs ?? 0) > LONGEST_WAIT_MS) throw error;
      await clock.sleep(Math.max(error.retryAfterMs ?? 0, backOffMs(attempts, BACK_OFF, random)), signal);
    }
  }
}
