import type { PageRequest } from '../walk/instruments-messages.ts';
import type { InstrumentsPage, InstrumentsProvider } from './instruments-provider.ts';

interface Asked {
  readonly request: PageRequest;
  readonly page: Promise<InstrumentsPage>;
  /** Gives the request up. */
  readonly stop: AbortController;
  /** The cursor behind this page, as it seems; null until the page has arrived. */
  probableNext: string | null;
}

/**
 * The pages of a walk: the newest one is held until its rows are used, and the next one is asked for as soon as that has
 * arrived, while it is decoded and committed. So the provider's latency costs no time. Until a page is decoded, the cursor
 * behind it is a guess. A page that was asked for by a wrong guess is dropped unseen, and no guess follows it.
 */
export class ListPages {
  readonly #provider: Pick<InstrumentsProvider, 'page'>;
  #held: InstrumentsPage | null = null;
  #taken: Asked | null = null;
  #ahead: Asked | null = null;
  #guesses = true;

  constructor(provider: Pick<InstrumentsProvider, 'page'>) {
    this.#provider = provider;
  }

  /** The page that came last. */
  get held(): InstrumentsPage | null {
    return this.#held;
  }

  /** The page of this request: the one that is under way, or one that is asked for now. */
  async take(request: PageRequest, signal: AbortSignal): Promise<InstrumentsPage> {
    const isAhead = this.#ahead !== null && isSame(this.#ahead.request, request);
    if (!isAhead) this.#drop();
    const taken = this.#ahead ?? this.#begin(request, signal);
    this.#ahead = null;
    this.#taken = taken;
    this.#guessBehind(taken, signal);
    this.#held = await taken.page;
    return this.#held;
  }

  /** Asks for the page that follows the one that was taken, unless it is under way. */
  fetchAhead(request: PageRequest, signal: AbortSignal): void {
    if (this.#ahead !== null && isSame(this.#ahead.request, request)) return;
    if (this.#ahead?.request.walk === request.walk) this.#guesses = false;
    this.#drop();
    this.#ahead = this.#begin(request, signal);
  }

  #begin(request: PageRequest, signal: AbortSignal): Asked {
    const stop = new AbortController();
    const page = this.#provider.page(request.minId, AbortSignal.any([signal, stop.signal]), (probableNext) => {
      asked.probableNext = probableNext;
      this.#guessBehind(asked, signal);
    });
    const asked: Asked = { request, page, stop, probableNext: null };
    // The caller that takes the page sees its failure; if the session ends before, it must not end the process.
    page.catch(() => {});
    return asked;
  }

  /** One page ahead is enough: behind a page that was not taken yet, nothing is asked for. */
  #guessBehind(asked: Asked, signal: AbortSignal): void {
    const { probableNext: minId, request } = asked;
    if (asked !== this.#taken || this.#ahead !== null || minId === null || !this.#guesses || signal.aborted) return;
    // A cursor that does not go on ends the walk.
    if (request.minId !== null && BigInt(minId) <= BigInt(request.minId)) return;
    this.#ahead = this.#begin({ walk: request.walk, minId }, signal);
  }

  #drop(): void {
    this.#ahead?.stop.abort(new Error('Another page is asked for.'));
    this.#ahead = null;
  }
}

function isSame(one: PageRequest, other: PageRequest): boolean {
  return one.walk === other.walk && one.minId === other.minId;
}
