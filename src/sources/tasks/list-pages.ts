import type { DecodedEvent } from '../../records/decoding/event-decoder.ts';
import type { Clock } from '../../support/clock.ts';
import type { PageRequest } from '../walk/instruments-messages.ts';
import type { FollowedOutcome } from './followed-stream.ts';
import type { InstrumentsPage, InstrumentsProvider } from './instruments-provider.ts';

interface RequestedPage {
  readonly request: PageRequest;
  readonly page: Promise<InstrumentsPage>;
  /** Aborts the request for this page and the request for the page's drain. */
  readonly stop: AbortController;
  hasArrived: boolean;
  isDecoded: boolean;
  /** The probable next cursor; null before the page has arrived. */
  probableNext: string | null;
  /** The prefetched first response of the stream for this page's drain; null before the request and after its use. */
  drain: DrainAhead | null;
}

interface DrainAhead {
  readonly since: string;
  readonly askedMs: number;
  readonly response: Promise<FollowedOutcome<DecodedEvent>>;
}

/** A prefetched response of the stream is not used after this time. */
const LONGEST_KEPT_MS = 10_000;

/** At most this many pages after the current page are requested or kept. */
const MOST_AHEAD = 2;

/**
 * Prefetches the pages of a walk. Page 3 is requested when page 2 has arrived and page 1 is decoded. Until page 2 is
 * decoded, the cursor of page 3 is a guess from the bytes of page 2. A wrong guess drops page 3 and ends all guesses.
 *
 * Also prefetches the first response of the stream for the drain of a page. If page 2 has arrived while the rows of
 * page 1 are written, the stream is requested during this write. The response is used only for the drain of page 2.
 */
export class ListPages {
  readonly #provider: Pick<InstrumentsProvider, 'page' | 'after'>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #held: InstrumentsPage | null = null;
  #taken: RequestedPage | null = null;
  #ahead: readonly RequestedPage[] = [];
  /** The page whose rows are written now, or the last page whose rows were written. */
  #used: RequestedPage | null = null;
  /** Our offset while the rows of `#used` are written; null after the next request to the stream. */
  #since: string | null = null;
  #guesses = true;

  constructor(provider: Pick<InstrumentsProvider, 'page' | 'after'>, clock: Pick<Clock, 'monotonicMs'>) {
    this.#provider = provider;
    this.#clock = clock;
  }

  get held(): InstrumentsPage | null {
    return this.#held;
  }

  /** Returns the prefetched page of this request, or requests the page. */
  async take(request: PageRequest, signal: AbortSignal): Promise<InstrumentsPage> {
    this.#keepAhead(request);
    const [taken = this.#begin(request, signal), ...ahead] = this.#ahead;
    this.#taken?.stop.abort(new Error('The walk has passed this page.'));
    this.#taken = taken;
    this.#ahead = ahead;
    this.#askAhead(signal);
    this.#held = await taken.page;
    return this.#held;
  }

  fetchAhead(request: PageRequest, signal: AbortSignal): void {
    const guessed = this.#ahead[0];
    this.#keepAhead(request);
    if (this.#ahead.length > 0) return;
    if (guessed?.request.walk === request.walk) this.#guesses = false;
    this.#ahead = [this.#begin(request, signal)];
  }

  use(since: string, signal: AbortSignal): void {
    this.#used = this.#taken;
    this.#since = since;
    this.#askAhead(signal);
  }

  /** Requests the stream, or uses the prefetched response. `drains`: true during the drain of the current page. */
  after(since: string, drains: boolean, signal: AbortSignal): Promise<FollowedOutcome<DecodedEvent>> {
    const ahead = drains ? this.#taken?.drain : null;
    if (drains && this.#taken) this.#taken.drain = null;
    // This response may move our offset. So no further drain is prefetched from the old offset.
    this.#since = null;
    const isUsable = ahead?.since === since && this.#clock.monotonicMs() - ahead.askedMs <= LONGEST_KEPT_MS;
    return isUsable ? ahead.response : this.#provider.after(since, signal);
  }

  #begin(request: PageRequest, signal: AbortSignal): RequestedPage {
    const stop = new AbortController();
    const page = this.#provider.page(request.minId, AbortSignal.any([signal, stop.signal]), (probableNext) => {
      asked.hasArrived = true;
      asked.probableNext = probableNext;
      this.#askAhead(signal);
    });
    const asked: RequestedPage = {
      request,
      page,
      stop,
      hasArrived: false,
      isDecoded: false,
      probableNext: null,
      drain: null,
    };
    const decoded = () => {
      asked.isDecoded = true;
      this.#askAhead(signal);
    };
    // The caller of `take` receives a failure of the page. If no caller takes the page, the failure is ignored.
    page.then(decoded, () => {});
    return asked;
  }

  #askAhead(signal: AbortSignal): void {
    if (signal.aborted) return;
    const earlier = [this.#taken, ...this.#ahead].filter((asked) => asked !== null);
    const newest = earlier.pop();
    const mayGuess = this.#ahead.length < MOST_AHEAD && earlier.every(({ isDecoded }) => isDecoded);
    if (newest !== undefined && mayGuess) this.#guessBehind(newest, signal);
    const first = this.#taken === this.#used ? this.#ahead[0] : this.#taken;
    if (first?.hasArrived && first.drain === null && this.#since !== null) this.#drainAhead(first, this.#since, signal);
  }

  #guessBehind({ probableNext: minId, request }: RequestedPage, signal: AbortSignal): void {
    if (minId === null || !this.#guesses) return;
    if (request.minId !== null && BigInt(minId) <= BigInt(request.minId)) return;
    this.#ahead = [...this.#ahead, this.#begin({ walk: request.walk, minId }, signal)];
  }

  #drainAhead(asked: RequestedPage, since: string, signal: AbortSignal): void {
    const response = this.#provider.after(since, AbortSignal.any([signal, asked.stop.signal]));
    response.catch(() => {});
    asked.drain = { since, askedMs: this.#clock.monotonicMs(), response };
  }

  #keepAhead(request: PageRequest): void {
    const [next] = this.#ahead;
    if (next?.request.walk === request.walk && next.request.minId === request.minId) return;
    for (const { stop } of this.#ahead) stop.abort(new Error('Another page is requested.'));
    this.#ahead = [];
  }
}
