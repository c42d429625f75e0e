import type { DecodedEvent } from '../../records/decoding/event-decoder.ts';
import type { Clock } from '../../support/clock.ts';
import type { PageRequest } from '../walk/instruments-messages.ts';
import type { FollowedOutcome } from './followed-stream.ts';
import type { InstrumentsPage, InstrumentsProvider } from './instruments-provider.ts';

interface Asked {
  readonly request: PageRequest;
  readonly page: Promise<InstrumentsPage>;
  /** Gives up the page, and what was asked of the stream for its drain. */
  readonly stop: AbortController;
  /** Its last byte has come. */
  hasArrived: boolean;
  isDecoded: boolean;
  /** The cursor behind this page, as it seems; null until the page has arrived. */
  probableNext: string | null;
  /** The stream's response with which its drain begins; null where it was not asked for, or is used. */
  drain: DrainAhead | null;
}

interface DrainAhead {
  readonly since: string;
  readonly askedMs: number;
  readonly response: Promise<FollowedOutcome<DecodedEvent>>;
}

/** A response that is kept is as one that took so long: for a longer time, the provider would not be waited for. */
const LONGEST_KEPT_MS = 10_000;

/** Pages that may be under way or kept behind the one that was taken. */
const MOST_AHEAD = 2;

/**
 * The pages of a walk, so that the provider's latency costs its time once per page: the newest page is held until its rows
 * are used, and meanwhile the next one is under way.
 *
 * - The next page is asked for as soon as the one before has arrived and the one before that is decoded: so where responses
 *   take long, their requests follow each other without a pause, and elsewhere one page waits to be decoded. Until a page is
 *   decoded, the cursor behind it is a guess. A page that was asked for by a wrong guess is dropped unseen, and no guess
 *   follows it.
 * - The stream is asked as soon as the next page has arrived and the rows of the held one are being written, since from then
 *   on our offset stays where it is. As this is after the page's last byte, the response covers all that the page shows:
 *   it may begin the page's drain, and that of no other page.
 */
export class ListPages {
  readonly #provider: Pick<InstrumentsProvider, 'page' | 'after'>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #held: InstrumentsPage | null = null;
  #taken: Asked | null = null;
  /** Behind the page that was taken, in order. */
  #ahead: readonly Asked[] = [];
  /** The page whose rows are being written, or are written. */
  #used: Asked | null = null;
  /** Our offset in the stream from then on; null as soon as the stream is asked again. */
  #since: string | null = null;
  #guesses = true;

  constructor(provider: Pick<InstrumentsProvider, 'page' | 'after'>, clock: Pick<Clock, 'monotonicMs'>) {
    this.#provider = provider;
    this.#clock = clock;
  }

  /** The page that came last. */
  get held(): InstrumentsPage | null {
    return this.#held;
  }

  /** The page of this request: the one that is under way, or one that is asked for now. */
  async take(request: PageRequest, signal: AbortSignal): Promise<InstrumentsPage> {
    this.#keepAhead(request);
    const [taken = this.#begin(request, signal), ...ahead] = this.#ahead;
    this.#taken?.stop.abort(new Error('Its place in the walk is passed.'));
    this.#taken = taken;
    this.#ahead = ahead;
    this.#askAhead(signal);
    this.#held = await taken.page;
    return this.#held;
  }

  /** Asks for the page that follows the one that was taken, unless it is under way. */
  fetchAhead(request: PageRequest, signal: AbortSignal): void {
    const guessed = this.#ahead[0];
    this.#keepAhead(request);
    if (this.#ahead.length > 0) return;
    if (guessed?.request.walk === request.walk) this.#guesses = false;
    this.#ahead = [this.#begin(request, signal)];
  }

  /** The rows of the held page are being written, with our offset in the stream. */
  use(since: string, signal: AbortSignal): void {
    this.#used = this.#taken;
    this.#since = since;
    this.#askAhead(signal);
  }

  /** The events after our offset. `drains`: for the drain of the page that was taken. */
  after(since: string, drains: boolean, signal: AbortSignal): Promise<FollowedOutcome<DecodedEvent>> {
    const ahead = drains ? this.#taken?.drain : null;
    if (drains && this.#taken) this.#taken.drain = null;
    // The response may move our offset.
    this.#since = null;
    const isUsable = ahead?.since === since && this.#clock.monotonicMs() - ahead.askedMs <= LONGEST_KEPT_MS;
    return isUsable ? ahead.response : this.#provider.after(since, signal);
  }

  #begin(request: PageRequest, signal: AbortSignal): Asked {
    const stop = new AbortController();
    const page = this.#provider.page(request.minId, AbortSignal.any([signal, stop.signal]), (probableNext) => {
      asked.hasArrived = true;
      asked.probableNext = probableNext;
      this.#askAhead(signal);
    });
    const asked: Asked = {
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
    // The caller that takes the page sees its failure; if the session ends before, it must not end the process.
    page.then(decoded, () => {});
    return asked;
  }

  /** Asks for the page behind the newest one, and for the drain of the first page that is not being written yet. */
  #askAhead(signal: AbortSignal): void {
    if (signal.aborted) return;
    const earlier = [this.#taken, ...this.#ahead].filter((asked) => asked !== null);
    const newest = earlier.pop();
    const mayGuess = this.#ahead.length < MOST_AHEAD && earlier.every(({ isDecoded }) => isDecoded);
    if (newest !== undefined && mayGuess) this.#guessBehind(newest, signal);
    const first = this.#taken === this.#used ? this.#ahead[0] : this.#taken;
    if (first?.hasArrived && first.drain === null && this.#since !== null) this.#drainAhead(first, this.#since, signal);
  }

  #guessBehind({ probableNext: minId, request }: Asked, signal: AbortSignal): void {
    if (minId === null || !this.#guesses) return;
    // A cursor that does not go on ends the walk.
    if (request.minId !== null && BigInt(minId) <= BigInt(request.minId)) return;
    this.#ahead = [...this.#ahead, this.#begin({ walk: request.walk, minId }, signal)];
  }

  #drainAhead(asked: Asked, since: string, signal: AbortSignal): void {
    const response = this.#provider.after(since, AbortSignal.any([signal, asked.stop.signal]));
    // As with a page: its drain sees the failure.
    response.catch(() => {});
    asked.drain = { since, askedMs: this.#clock.monotonicMs(), response };
  }

  /** Drops what is under way unless it begins with this page. */
  #keepAhead(request: PageRequest): void {
    const [next] = this.#ahead;
    if (next !== undefined && isSame(next.request, request)) return;
    for (const { stop } of this.#ahead) stop.abort(new Error('Another page is asked for.'));
    this.#ahead = [];
  }
}

function isSame(one: PageRequest, other: PageRequest): boolean {
  return one.walk === other.walk && one.minId === other.minId;
}
