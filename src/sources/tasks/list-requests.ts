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

type Outcome<Answer> = { readonly answer: Answer } | { readonly error: unknown };

/**
 * The requests to the instrument list, one at a time, beside the stream: that is another endpoint, and never waits for the
 * list. So a list that takes long, hangs, or refuses for an hour holds up a walk or a proof, and no event.
 */
export class ListRequests<Answer> {
  readonly #options: ListRequestsOptions;
  #failures = 0;
  #freeMs = 0;
  /** Aborts when the request that is under way has ended, however; null where none is. */
  #ending: AbortController | null = null;
  #outcome: Outcome<Answer> | null = null;

  constructor(options: ListRequestsOptions) {
    this.#options = options;
  }

  /** When the list may be asked again, on the monotonic clock; it may lie in the past. Infinite while a request is under way. */
  get freeMs(): number {
    return this.#ending === null ? this.#freeMs : Number.POSITIVE_INFINITY;
  }

  /** Aborts when the request that is under way has ended, so that a wait for the stream ends; undefined where none is. */
  get ending(): AbortSignal | undefined {
    return this.#ending?.signal;
  }

  /**
   * Sends a request, and returns without waiting for its answer; what came of the one before was taken. What has come already is there when it returns, so that a
   * page that was fetched ahead costs no wait. `isAwaited`: there is no stream yet that could go on, so its end is awaited.
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
   * The answer that has come; null where none has, or where it failed and the list is to be asked again later. It is given
   * once.
   *
   * @throws what no repetition mends, or the signal's reason.
   */
  take(): Answer | null {
    const outcome = this.#outcome;
    this.#outcome = null;
    if (outcome === null) return null;
    if ('error' in outcome) throw outcome.error;
    return outcome.answer;
  }

  async #follow(request: () => Promise<Answer>, signal: AbortSignal): Promise<void> {
    try {
      this.#outcome = { answer: await request() };
      this.#failures = 0;
    } catch (error) {
      this.#outcome = signal.aborted ? { error: signal.reason } : this.#failed(error);
    }
  }

  /** Null: the list is asked again. */
  #failed(cause: unknown): Outcome<Answer> | null {
    const { source, events, clock, random } = this.#options;
    try {
      const failures = this.#failures + 1;
      const waitMs = pollWaitMs(cause, failures, random);
      this.#failures = failures;
      this.#freeMs = clock.monotonicMs() + waitMs;
      events.attemptFailed({ source, endpoint: 'instruments', failures, waitMs, err: cause as Error });
      return null;
    } catch (error) {
      return { error };
    }
  }
}
