import type { CoreAnswer, PageRequest } from '../../src/sources/walk/instruments-messages.ts';
import type { LapMistake } from './model-core.ts';
import type { ModelEvent } from './model-ledger.ts';
import type { ModelPage } from './model-provider.ts';

/** A response of the stream that is kept for the drain of a page. */
interface DrainAhead {
  readonly of: PageRequest;
  /** The page as it had arrived; null for one that comes later, which is a mistake. */
  readonly page: ModelPage | null;
  readonly since: string;
  readonly askedMs: number;
  readonly answer: CoreAnswer | null;
  readonly events: readonly ModelEvent[];
}

interface Provider {
  readonly mistake: LapMistake | null;
  page(request: PageRequest): ModelPage | null;
  events(since: string, seen: ModelEvent[]): CoreAnswer | null;
}

/** A response that is kept for longer is asked for again. */
const LONGEST_KEPT_MS = 10_000;

/** What a process has of a walk before it is wanted: pages that have arrived, and what begins their drains. */
export class ModelAhead {
  readonly #provider: Provider;
  #pages: readonly { readonly request: PageRequest; readonly page: ModelPage }[] = [];
  #drains: readonly DrainAhead[] = [];
  #taken: { readonly request: PageRequest; readonly page: ModelPage | null } | null = null;

  constructor(provider: Provider) {
    this.#provider = provider;
  }

  take(request: PageRequest): ModelPage | null {
    const [ahead, ...others] = this.#pages;
    const isAhead = ahead !== undefined && isSame(ahead.request, request);
    this.#pages = isAhead ? others : [];
    const page = isAhead ? ahead.page : this.#provider.page(request);
    this.#taken = { request, page };
    return page;
  }

  fetch(request: PageRequest, since: string, nowMs: number): void {
    if (this.#provider.mistake === 'drainAskedBeforePage') {
      this.#askDrain({ of: request, page: null, since, askedMs: nowMs });
      return;
    }
    if (this.#pages[0] !== undefined && isSame(this.#pages[0].request, request)) return;
    this.#pages = [];
    this.#fetch(request);
    // The one behind it comes before the drain of the page that was taken, or after.
    if (Number(request.minId) % 2 === 0) this.#fetchBehind();
  }

  /** The rows of a page are being written: the drain of the next one begins, and the page behind that arrives. */
  use(since: string, nowMs: number): void {
    const [next] = this.#pages;
    if (next === undefined) return;
    const { request: of, page } = next;
    const isMistaken = this.#provider.mistake === 'drainOfEarlierArrival';
    this.#askDrain({ of, page: isMistaken ? null : page, since, askedMs: nowMs });
    this.#fetchBehind();
  }

  #fetchBehind(): void {
    const [next, ...others] = this.#pages;
    const minId = next?.page.next ?? null;
    if (next === undefined || others.length > 0 || minId === null) return;
    this.#fetch({ walk: next.request.walk, minId });
  }

  #fetch(request: PageRequest): void {
    const page = this.#provider.page(request);
    if (page !== null) this.#pages = [...this.#pages, { request, page }];
  }

  /** The response that was asked for since the page arrived that is drained now, if it is one to our offset. */
  drain(since: string, nowMs: number): DrainAhead | null {
    const taken = this.#taken;
    if (taken === null) return null;
    const kept = this.#drains.find(({ of }) => isSame(of, taken.request));
    if (kept === undefined) return null;
    this.#drains = this.#drains.filter((drain) => drain !== kept);
    const isFresh = nowMs - kept.askedMs <= LONGEST_KEPT_MS;
    return isFresh && kept.since === since && (kept.page === null || kept.page === taken.page) ? kept : null;
  }

  #askDrain(asked: Omit<DrainAhead, 'answer' | 'events'>): void {
    const events: ModelEvent[] = [];
    const answer = this.#provider.events(asked.since, events);
    this.#drains = [...this.#drains.filter(({ of }) => !isSame(of, asked.of)), { ...asked, answer, events }];
  }
}

function isSame(one: PageRequest, other: PageRequest): boolean {
  return one.walk === other.walk && one.minId === other.minId;
}
