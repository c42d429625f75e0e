import type { ConnectorEvents } from '../../observability/connector-events.ts';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { pollWaitMs } from '../poll-back-off.ts';

export interface ListHoldOptions {
  readonly source: string;
  readonly events: Pick<ConnectorEvents, 'attemptFailed'>;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The back-off of the instrument list. It is the list's own: the stream is another endpoint, and never waits for it. A
 * list that refuses for an hour holds up the walk for an hour, and no event.
 */
export class ListHold {
  readonly #options: ListHoldOptions;
  #failures = 0;
  #freeMs = 0;

  constructor(options: ListHoldOptions) {
    this.#options = options;
  }

  /** When the list may be asked again, on the monotonic clock; it may lie in the past. */
  get freeMs(): number {
    return this.#freeMs;
  }

  /**
   * Asks the list.
   *
   * @returns null when it failed and is to be asked again later.
   * @throws what no repetition mends, or the signal's reason.
   */
  async ask<Answer>(request: () => Promise<Answer>, signal: AbortSignal): Promise<Answer | null> {
    const { source, events, clock, random } = this.#options;
    try {
      const answer = await request();
      this.#failures = 0;
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      const failures = this.#failures + 1;
      const waitMs = pollWaitMs(error, failures, random);
      this.#failures = failures;
      this.#freeMs = clock.monotonicMs() + waitMs;
      events.attemptFailed({ source, endpoint: 'instruments', failures, waitMs, err: error as Error });
      return null;
    }
  }
}
