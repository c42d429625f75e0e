import { ConnectorError, type ErrorCode } from '../../errors.ts';
import type { HttpResponse } from '../../provider/http/http-response.ts';
import {
  eventStreamStart,
  namedMaxEvents,
  newestEventOffset,
  nextEventOffset,
  nextInstrumentCursor,
  pageStreamStart,
  probableNextCursor,
} from '../../provider/page-link.ts';
import type { ReferenceData } from '../../provider/reference-data.ts';
import type { DecodedEvent, EventDecoder } from '../../records/decoding/event-decoder.ts';
import type { DecodedPage, PageDecoder } from '../../records/decoding/page-decoder.ts';
import type { Clock } from '../../support/clock.ts';
import { type ResponseTime, responseTime } from '../stream/response-time.ts';
import { DeadLetterShare } from './dead-letter-share.ts';
import { type FollowedResponse, type FollowedStream, linksOf, refusalOf } from './followed-stream.ts';

export interface InstrumentDecoders {
  readonly pages: PageDecoder;
  readonly events: EventDecoder;
}

export interface InstrumentsPage {
  readonly decoded: DecodedPage;
  /** Null at the end of the list. */
  readonly next: string | null;
  /** The offset in `links.events`; null if there is no valid offset. */
  readonly start: string | null;
  readonly time: ResponseTime;
  readonly fetchMs: number;
}

type OnArrived = (probableNext: string | null) => void;

/** Each call makes one attempt. All tasks of a source share one such object, because it adapts the sizes of requests and counts dead letters. */
export interface InstrumentsProvider extends FollowedStream<DecodedEvent> {
  /** `onArrived`: called with the probable next cursor when the page has arrived, unless the page is too large. */
  page(minId: string | null, signal: AbortSignal, onArrived?: OnArrived): Promise<InstrumentsPage>;
}

export interface InstrumentsProviderOptions {
  readonly referenceData: ReferenceData;
  /** Registers the schemas if necessary. Called before each request, so that a failed registration is repeated. */
  readonly decoders: (signal: AbortSignal) => Promise<InstrumentDecoders>;
  readonly limit: number;
  readonly maxEvents: number;
  /** The largest share of dead letters, in one response and in the last thousand rows. */
  readonly maxDeadLetters: number;
  readonly clock: Clock;
}

export function createInstrumentsProvider(options: InstrumentsProviderOptions): InstrumentsProvider {
  const { referenceData, decoders, clock } = options;
  const { baseUrl, instrumentsEndpoint } = referenceData;
  const pageSize = new PageSize(options.limit);
  const pageShare = new DeadLetterShare(options.maxDeadLetters);

  let decoding: Promise<unknown> = Promise.resolve();

  /** Decodes one page at a time, because decoding two pages at once needs more memory and saves no time. */
  async function decodeInTurn(pages: PageDecoder, answer: HttpResponse, onArrived?: OnArrived): Promise<DecodedPage> {
    const edges = onArrived === undefined ? null : await answer.arrived();
    if (edges !== null) onArrived?.(probableNextCursor(edges, baseUrl));
    const decoded = decoding.then(() => pages.decode(answer.body));
    decoding = decoded.catch(() => {});
    return decoded;
  }

  /** `readLink` runs within the request, so that an error of `readLink` names the request. */
  async function fetchList<Link>(
    { minId, limit }: { readonly minId: string | null; readonly limit: number },
    readLink: (links: ReadonlyMap<string, unknown>, baseUrl: string) => Link,
    signal: AbortSignal,
    onArrived?: OnArrived,
  ) {
    const { pages } = await decoders(signal);
    const startedMs = clock.monotonicMs();
    return referenceData.instruments(
      { minId, limit },
      async (answer) => {
        const decoded = await decodeInTurn(pages, answer, onArrived);
        const link = readLink(linksOf(decoded.envelope, instrumentsEndpoint), baseUrl);
        const time = responseTime(answer.date, clock.wallMs());
        return { decoded, link, time, fetchMs: clock.monotonicMs() - startedMs };
      },
      signal,
    );
  }

  return {
    async start(signal) {
      const { link, time } = await fetchList({ minId: null, limit: 1 }, eventStreamStart, signal);
      return { since: link, time };
    },
    after: createEventRequests(options),
    page(minId, signal, onArrived) {
      return pageSize.ask(async (limit) => {
        const { decoded, link, time, fetchMs } = await fetchList({ minId, limit }, pageLinks, signal, onArrived);
        pageShare.check(decoded.rows, `${instrumentsEndpoint}?minId=${minId ?? ''}`);
        return { decoded, ...link, time, fetchMs };
      });
    },
  };
}

function createEventRequests(options: InstrumentsProviderOptions): InstrumentsProvider['after'] {
  const { referenceData, decoders, clock } = options;
  const { baseUrl, eventsEndpoint } = referenceData;
  const answerSize = new PageSize(options.maxEvents, true);
  const eventShare = new DeadLetterShare(options.maxDeadLetters);

  async function askForEvents(since: string, maxEvents: number, signal: AbortSignal) {
    const decoder = (await decoders(signal)).events;
    const startedMs = clock.monotonicMs();
    const consume = async ({ body, date }: HttpResponse): Promise<FollowedResponse<DecodedEvent>> => {
      const decoded = await decoder.decode(body);
      const links = linksOf(decoded.envelope, eventsEndpoint);
      const next = nextEventOffset(links, baseUrl);
      answerSize.named(namedMaxEvents(links, baseUrl), decoded.rows.length, maxEvents);
      const nextId = newestEventOffset(decoded.envelope);
      const time = responseTime(date, clock.wallMs());
      return { decoded, next, nextId, time, fetchMs: clock.monotonicMs() - startedMs };
    };
    try {
      const answer = await referenceData.events({ since, maxEvents }, consume, signal);
      eventShare.check(answer.decoded.rows, `${eventsEndpoint}?since=${since}`);
      return { kind: 'stream', answer } as const;
    } catch (error) {
      const refusal = refusalOf(error, clock);
      if (refusal === null) throw error;
      if (refusal.status === 400 && maxEvents > 1) await assertRefusesOne(since, maxEvents, signal);
      return refusal;
    }
  }

  /** Status 400 may also mean "too many" (part 7 of src/provider/README.md). Then a request for one event succeeds. */
  async function assertRefusesOne(since: string, maxEvents: number, signal: AbortSignal): Promise<void> {
    try {
      await referenceData.events({ since, maxEvents: 1 }, async () => {}, signal);
    } catch (error) {
      if (refusalOf(error, clock)?.status === 400) return;
      throw error;
    }
    throw new ConnectorError(
      'PROVIDER_ASKS_FOR_LESS',
      `${eventsEndpoint} refuses a request for ${maxEvents} events but accepts smaller requests. The source requests fewer events.`,
      { fields: { endpoint: eventsEndpoint } },
    );
  }

  return async (since, signal) => {
    if (since === null) throw new Error('The event stream was requested without an offset.');
    return answerSize.ask((maxEvents) => askForEvents(since, maxEvents, signal));
  };
}

function pageLinks(links: ReadonlyMap<string, unknown>, baseUrl: string) {
  return { next: nextInstrumentCursor(links, baseUrl), start: pageStreamStart(links, baseUrl) };
}

const SUCCESSES_BEFORE_GROWING = 10;
const MALFORMED: ReadonlySet<ErrorCode> = new Set(['BODY_MALFORMED', 'PROTOCOL_VIOLATION']);

/**
 * Adapts the number of items in a request. A refusal or a cut response halves the number, down to 1. After some
 * successes, the number doubles, but stays below a refused number. If a request for a single item is refused, the
 * number is not the cause, so the next request has the configured number again. Exported for tests.
 */
export class PageSize {
  readonly #configured: number;
  readonly #closesIn: boolean;
  #largest: number;
  #current: number;
  #successes = 0;

  /** @param closesIn true: an unreadable response also halves the number, because one bad item can be the cause. */
  constructor(configured: number, closesIn = false) {
    this.#configured = configured;
    this.#closesIn = closesIn;
    this.#largest = configured;
    this.#current = configured;
  }

  /** Calls `request` with the current number of items, and learns from the outcome. */
  async ask<Answer>(request: (items: number) => Promise<Answer>): Promise<Answer> {
    const items = this.#current;
    try {
      const answer = await request(items);
      this.#succeeded();
      return answer;
    } catch (error) {
      if (error instanceof ConnectorError) {
        const isMalformed = this.#closesIn && MALFORMED.has(error.code);
        if (isMalformed || asksForLess(error)) this.#failed(items, isMalformed || error.code === 'PROVIDER_TIMEOUT');
      }
      throw error;
    }
  }

  /**
   * If `most`, the number in `links.next`, is lower than the `requested` number, later requests use `most`. Ignores
   * `most` if the response `held` more events. After successes, the number rises again.
   */
  named(most: number | null, held: number, requested: number): void {
    if (most === null || most < held || most >= requested) return;
    this.#successes = 0;
    this.#current = most;
  }

  #failed(items: number, isPassing: boolean): void {
    this.#successes = 0;
    this.#current = Math.max(1, Math.floor(items / 2));
    // After slowness or a bad item, the number may grow again. A refused number is not used again.
    if (isPassing) return;
    if (items === 1) this.#current = this.#configured;
    this.#largest = this.#current;
  }

  #succeeded(): void {
    this.#successes += 1;
    if (this.#successes < SUCCESSES_BEFORE_GROWING) return;
    this.#successes = 0;
    this.#current = Math.min(this.#largest, this.#current * 2);
  }
}

/** True if fewer items may succeed. A plain 400 may also mean "too many" (part 7 of src/provider/README.md). */
export function asksForLess(error: ConnectorError): boolean {
  return error.action === 'askForLess' || (error.code === 'PROVIDER_REFUSED' && error.fields.status === 400);
}
