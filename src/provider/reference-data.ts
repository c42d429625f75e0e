import type { HttpClient } from './http/client.ts';
import type { HttpResponse } from './http/http-response.ts';

export interface EventFilter {
  /** All instruments, or the caller's own instruments (the /my variants of part 4.2 of src/provider/README.md). */
  readonly scope: 'all' | 'my';
  readonly legalCountry: string | null;
  /** Restricts only the event stream, not the list; null or absent: all event types. */
  readonly eventType?: string | null;
}

/** The reference data interface (part 4.2 of src/provider/README.md): the requests for instruments and events. */
export interface ReferenceData {
  readonly baseUrl: string;
  readonly instrumentsEndpoint: string;
  /** One page of GET /v1/instruments or /v1/instruments/my. */
  instruments<T>(
    page: { readonly minId: string | null; readonly limit: number },
    consume: (response: HttpResponse) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
  readonly eventsEndpoint: string;
  /** One response of GET /v1/instruments/events or /v1/instruments/events/my: the events after an offset. */
  events<T>(
    after: { readonly since: string; readonly maxEvents: number },
    consume: (response: HttpResponse) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
}

export function createReferenceData(options: {
  readonly http: HttpClient;
  readonly baseUrl: string;
  readonly filter: EventFilter;
}): ReferenceData {
  const { http, baseUrl, filter } = options;
  const instrumentsEndpoint = filter.scope === 'my' ? '/v1/instruments/my' : '/v1/instruments';
  const eventsEndpoint = filter.scope === 'my' ? '/v1/instruments/events/my' : '/v1/instruments/events';
  const narrowed: readonly [string, string][] =
    filter.legalCountry === null ? [] : [['legalCountry', filter.legalCountry]];
  return {
    baseUrl,
    instrumentsEndpoint,
    eventsEndpoint,
    instruments(page, consume, signal) {
      const query: [string, string][] = [['limit', String(page.limit)], ...narrowed];
      if (page.minId !== null) query.push(['minId', page.minId]);
      return http.get({ path: instrumentsEndpoint, query }, consume, signal);
    },
    events({ since, maxEvents }, consume, signal) {
      const query: [string, string][] = [['since', since], ['maxEvents', String(maxEvents)], ...narrowed];
      if (filter.eventType) query.push(['eventType', filter.eventType]);
      return http.get({ path: eventsEndpoint, query }, consume, signal);
    },
  };
}

/** The filter as one text, which is committed with the offset. So a changed filter is detected at the next start. */
export function filterText({ scope, legalCountry, eventType = null }: EventFilter): string {
  const country = legalCountry === null ? '' : ` legalCountry=${encodeURIComponent(legalCountry)}`;
  return `scope=${scope}${country}${eventType === null ? '' : ` eventType=${eventType}`}`;
}
