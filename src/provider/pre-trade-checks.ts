import type { HttpClient } from './http/client.ts';
import type { HttpResponse } from './http/http-response.ts';
import { CHECK_OFFSET, cursorOf } from './page-link.ts';

const ENDPOINT = '/v1/pretradechecks';
/** Other sources commit their filter with the offset. Pre-trade checks have no filter and commit this text instead. */
export const NO_FILTER = 'all';
const LARGEST_CHECK_BYTES = 16 * 2 ** 20;

/** The pre-trade checks of the reference data interface (part 4.2 of src/provider/README.md). */
export interface PreTradeChecks {
  readonly baseUrl: string;
  readonly endpoint: string;
  /** GET /v1/pretradechecks: the checks after the offset `since`. For the first request, `since` is null. */
  list<T>(since: string | null, consume: (response: HttpResponse) => Promise<T>, signal: AbortSignal): Promise<T>;
  single<T>(id: string, consume: (response: HttpResponse) => Promise<T>, signal: AbortSignal): Promise<T>;
}

export function createPreTradeChecks(options: {
  readonly http: Pick<HttpClient, 'get'>;
  readonly baseUrl: string;
}): PreTradeChecks {
  const { http, baseUrl } = options;
  return {
    baseUrl,
    endpoint: ENDPOINT,
    list: (since, consume, signal) =>
      http.get({ path: ENDPOINT, query: since === null ? [] : [['since', since]] }, consume, signal),
    single(id, consume, signal) {
      const path = `${ENDPOINT}/id/${encodeURIComponent(id.toWellFormed())}`;
      const request = { path, query: [], endpoint: `${ENDPOINT}/id/{id}`, maxBodyBytes: LARGEST_CHECK_BYTES };
      return http.get(request, consume, signal);
    },
  };
}

export function nextCheckOffset(links: ReadonlyMap<string, unknown>, baseUrl: string): string {
  return cursorOf(links.get('next'), 'links.next', 'since', CHECK_OFFSET, baseUrl);
}

export function newestCheckOffset(envelope: ReadonlyMap<string, unknown>): string | null {
  const nextId = envelope.get('nextId');
  return typeof nextId === 'string' && CHECK_OFFSET.test(nextId) ? nextId : null;
}
