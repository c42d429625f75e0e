import type { DecodedList } from '../../decoding/decoded-list.ts';
import type { DecodedEvent, EventDecoder } from '../../decoding/event-decoder.ts';
import type { DecodedPage, PageDecoder } from '../../decoding/page-decoder.ts';
import { ConnectorError } from '../../errors.ts';
import type { HttpResponse } from '../../http/http-response.ts';
import {
  eventStreamStart,
  namedMaxEvents,
  newestEventOffset,
  nextEventOffset,
  nextInstrumentCursor,
  pageStreamStart,
} from '../../provider/page-link.ts';
import type { ReferenceData } from '../../provider/reference-data.ts';
import type { Clock } from '../../support/clock.ts';
import { type ResponseTime, responseTime } from '../stream/response-time.ts';
import { refusesOffset } from '../stream/retention-gap.ts';
import type { StreamResponse } from '../stream/stream-response.ts';
import { DeadLetterShare } from './dead-letter-share.ts';
import { PageSize } from './page-size.ts';

/** How the answers of one source become records; made once its schemas are registered. */
export interface InstrumentDecoders {
  readonly pages: PageDecoder;
  readonly events: EventDecoder;
}

/** One page of the list, decoded. */
export interface InstrumentsPage {
  readonly decoded: DecodedPage;
  /** The cursor of the next page; null when the list says that it ends here. */
  readonly next: string | null;
  /** Its own place in the event stream (`links.events`); null where it has none of the documented form. */
  readonly start: string | null;
  readonly time: ResponseTime;
  readonly fetchMs: number;
}

/** One answer of the event stream, decoded. */
export interface InstrumentEvents extends StreamResponse {
  readonly decoded: DecodedList<DecodedEvent>;
  readonly time: ResponseTime;
}

/** A refusal of the offset that was asked for, or not. */
export type StreamOutcome =
  | { readonly kind: 'events'; readonly answer: InstrumentEvents }
  | { readonly kind: 'refused'; readonly status: number; readonly time: ResponseTime };

/**
 * The provider's instruments and events, decoded and with their links read; one attempt per call. What came of it decides
 * how much the next one asks for, and how many rows that do not map are too many: so one serves all tasks of a source.
 */
export interface InstrumentsProvider {
  /** Where the event stream starts that belongs to the list as it is now. */
  streamStart(signal: AbortSignal): Promise<{ readonly since: string; readonly time: ResponseTime }>;
  page(minId: string | null, signal: AbortSignal): Promise<InstrumentsPage>;
  events(since: string, signal: AbortSignal): Promise<StreamOutcome>;
}

export function createInstrumentsProvider(options: {
  readonly referenceData: ReferenceData;
  /** Asked before each request, so that a registry that is down is tried again. */
  readonly decoders: (signal: AbortSignal) => Promise<InstrumentDecoders>;
  /** Rows per page, and events per answer. */
  readonly limit: number;
  readonly maxEvents: number;
  /** The share of rows that may become dead letters: of one answer, and of the last thousand. */
  readonly maxDeadLetters: number;
  readonly clock: Clock;
}): InstrumentsProvider {
  const { referenceData, decoders, clock } = options;
  const { baseUrl, instrumentsEndpoint, eventsEndpoint } = referenceData;
  const pageSize = new PageSize(options.limit);
  const answerSize = new PageSize(options.maxEvents);
  const pageShare = new DeadLetterShare(options.maxDeadLetters);
  const eventShare = new DeadLetterShare(options.maxDeadLetters);

  const timeOf = ({ date }: HttpResponse): ResponseTime => responseTime(date, clock.wallMs());

  /** `readLink` takes the one link that is wanted; it runs while the request is still known, so that its errors name it. */
  async function fetchList<Link>(
    { minId, limit }: { readonly minId: string | null; readonly limit: number },
    readLink: (links: ReadonlyMap<string, unknown>, baseUrl: string) => Link,
    signal: AbortSignal,
  ) {
    const { pages } = await decoders(signal);
    const startedMs = clock.monotonicMs();
    return referenceData.instruments(
      { minId, limit },
      async (answer) => {
        const decoded = await pages.decode(answer.body);
        const link = readLink(linksOf(decoded.envelope, instrumentsEndpoint), baseUrl);
        return { decoded, link, time: timeOf(answer), fetchMs: clock.monotonicMs() - startedMs };
      },
      signal,
    );
  }

  /**
   * A 400 may mean "too many" as well, since part 7 of src/provider/README.md shows no error body of this interface:
   * then a single event is given.
   */
  async function assertRefusesOne(since: string, maxEvents: number, signal: AbortSignal): Promise<void> {
    try {
      await referenceData.events({ since, maxEvents: 1 }, async () => {}, signal);
    } catch (error) {
      if (refusedStatusOf(error) === 400) return;
      throw error;
    }
    throw new ConnectorError(
      'PROVIDER_ASKS_FOR_LESS',
      `${eventsEndpoint} refuses ${maxEvents} events at once and gives fewer; fewer are asked for.`,
      { fields: { endpoint: eventsEndpoint } },
    );
  }

  async function askForEvents(since: string, maxEvents: number, signal: AbortSignal): Promise<StreamOutcome> {
    const decoder = (await decoders(signal)).events;
    const consume = async (answer: HttpResponse): Promise<InstrumentEvents> => {
      const decoded = await decoder.decode(answer.body);
      const links = linksOf(decoded.envelope, eventsEndpoint);
      const next = nextEventOffset(links, baseUrl);
      answerSize.named(namedMaxEvents(links, baseUrl), decoded.rows.length);
      return { decoded, next, nextId: newestEventOffset(decoded.envelope), time: timeOf(answer) };
    };
    try {
      const answer = await referenceData.events({ since, maxEvents }, consume, signal);
      eventShare.check(answer.decoded.rows, `${eventsEndpoint}?since=${since}`);
      return { kind: 'events', answer };
    } catch (error) {
      const status = refusedStatusOf(error);
      if (status === null || !refusesOffset(status)) throw error;
      if (status === 400 && maxEvents > 1) await assertRefusesOne(since, maxEvents, signal);
      return { kind: 'refused', status, time: refusalTime(error, clock) };
    }
  }

  return {
    async streamStart(signal) {
      const { link, time } = await fetchList({ minId: null, limit: 1 }, eventStreamStart, signal);
      return { since: link, time };
    },
    page(minId, signal) {
      return pageSize.ask(async (limit) => {
        const { decoded, link, time, fetchMs } = await fetchList({ minId, limit }, pageLinks, signal);
        pageShare.check(decoded.rows, `${instrumentsEndpoint}?minId=${minId ?? ''}`);
        return { decoded, ...link, time, fetchMs };
      });
    },
    events(since, signal) {
      return answerSize.ask((maxEvents) => askForEvents(since, maxEvents, signal));
    },
  };
}

function pageLinks(links: ReadonlyMap<string, unknown>, baseUrl: string) {
  return { next: nextInstrumentCursor(links, baseUrl), start: pageStreamStart(links, baseUrl) };
}

/** The links of a response, which alone say where the next request starts. */
export function linksOf(envelope: ReadonlyMap<string, unknown>, endpoint: string): ReadonlyMap<string, unknown> {
  const links = envelope.get('links');
  if (links instanceof Map) return links;
  throw new ConnectorError(
    'PROTOCOL_VIOLATION',
    `The answer of ${endpoint} has no object "links", which says where the next request starts. Nothing was written.`,
  );
}

/**
 * The status with which the provider refused a request, or null for any other error: those of the token endpoint and of
 * the registry have statuses too, which say nothing of our offset.
 */
export function refusedStatusOf(error: unknown): number | null {
  const isRefusal = error instanceof ConnectorError && error.code === 'PROVIDER_REFUSED';
  return isRefusal && typeof error.fields.status === 'number' ? error.fields.status : null;
}

/** When a refusal was given: refusals have dates too. */
export function refusalTime(error: unknown, clock: Clock): ResponseTime {
  const date = error instanceof ConnectorError ? error.fields.dateMs : null;
  return responseTime(typeof date === 'number' ? date : null, clock.wallMs());
}
