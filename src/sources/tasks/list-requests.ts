import { setImmediate as afterOtherWork } from 'node:timers/promises';
import type { Events } from '../../observe/events.ts';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { pollWaitMs } from '../source-worker.ts';

export interface ListRequestsOptions {
  readonly source: string;
  readonly events: Pick<Events, 'attemptFailed'>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Requests to the instrument list, one at a time. The stream is another endpoint and never waits for the list. */
export class ListRequests<Answer> {
  readonly #options: ListRequestsOptions;
  #failures = 0;
  #freeMs = 0;
  /** Aborts at the end of the request under way; null for none. */
  #ending: AbortController | null = null;
  /** Gives the response, or throws. */
  #outcome: (() => Answer) | null = null;

  constructor(options: ListRequestsOptions) {
    this.#options = options;
  }

  /** Monotonic; infinite while a request is under way. */
  get freeMs(): number {
    return this.#ending === null ? this.#freeMs : Number.POSITIVE_INFINITY;
  }

  /** Ends a wait for the stream; undefined where no request is under way. */
  get ending(): AbortSignal | undefined {
    return this.#ending?.signal;
  }

  /**
   * Returns without waiting, unless `isAwaited`: there is no stream yet that could go on. A page that was fetched ahead
   * is there when it returns.
   */
  async begin(request: () => Promise<Answer>, signal: AbortSignal, isAwaited = false): Promise<void> {
    const ending = new AbortController();
    this.#ending = ending;
    const ended = this.#follow(request, signal).finally(() => {
      this.#ending = null;
      ending.abort(new Error('The list has answered.'));
    });
    await (isAwaited ? ended : afterOtherWork());
  }

  /**
   * The response, once; null where none has come or it failed and will be repeated.
   *
   * @throws errors that no repetition mends, or the signal's reason.
   */
  take(): Answer | null {
    const outcome = this.#outcome;
    this.#outcome = null;
    return outcome === null ? null : outcome();
  }

  async #follow(request: () => Promise<Answer>, signal: AbortSignal): Promise<void> {
    try {
      const answer = await request();
      this.#outcome = () => answer;
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted) this.#outcome = throwing(signal.reason);
      else this.#failed(error);
    }
  }

  /** It is asked again, where that may help. */
  #failed(cause: unknown): void {
    const { source, events, clock, random } = this.#options;
    try {
      const failures = this.#failures + 1;
      const waitMs = pollWaitMs(cause, failures, random);
      this.#failures = failures;
      this.#freeMs = clock.monotonicMs() + waitMs;
      events.attemptFailed({ source, endpoint: 'instruments', failures, waitMs, err: cause as Error });
    } catch (error) {
      this.#outcome = throwing(error);
    }
  }
}

function throwing(error: unknown): () => never {
  return () => {
    throw error;
  };
}
