import type { PageRequest } from '../walk/instruments-messages.ts';
import type { InstrumentsPage, InstrumentsProvider } from './instruments-provider.ts';

/** The pages of a walk: the newest one is held until its rows are used, and the next one is fetched meanwhile. */
export class ListPages {
  readonly #provider: Pick<InstrumentsProvider, 'page'>;
  #ahead: { readonly request: PageRequest; readonly page: Promise<InstrumentsPage> } | null = null;
  #held: InstrumentsPage | null = null;

  constructor(provider: Pick<InstrumentsProvider, 'page'>) {
    this.#provider = provider;
  }

  /** The page that came last. */
  get held(): InstrumentsPage | null {
    return this.#held;
  }

  /** A page that was fetched ahead is taken only for the very same request. */
  async take({ walk, minId }: PageRequest, signal: AbortSignal): Promise<InstrumentsPage> {
    const fetched = this.#ahead;
    this.#ahead = null;
    const isSame = fetched?.request.walk === walk && fetched.request.minId === minId;
    this.#held = await (fetched !== null && isSame ? fetched.page : this.#provider.page(minId, signal));
    return this.#held;
  }

  fetchAhead(request: PageRequest, signal: AbortSignal): void {
    const page = this.#provider.page(request.minId, signal);
    // The caller that takes the page sees its failure; if the session ends before, it must not end the process.
    page.catch(() => {});
    this.#ahead = { request, page };
  }
}
