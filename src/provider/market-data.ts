import { PRICE_KINDS, type PriceQuery } from '../config/price-kinds/all.ts';
import type { HttpClient } from './http/client.ts';
import type { HttpResponse } from './http/http-response.ts';

const BULK_ENDPOINT = '/v1/products/bulk';

const LARGEST_SINGLE_BYTES = 16 * 2 ** 20;

export interface PriceRequest {
  readonly isin: string;
  readonly query: PriceQuery;
}

/** The market data interface (part 4.1 of src/provider/README.md). Its calls reject with the errors of `HttpClient`. */
export interface MarketData {
  /** The path of the bulk operation, for record headers and error messages. */
  readonly bulkEndpoint: string;
  /** POST /v1/products/bulk. A response with many series is large: the setting marketData.maxBodyBytes limits it. */
  bulk<T>(
    items: readonly PriceRequest[],
    consume: (response: HttpResponse) => Promise<T>,
    signal: AbortSignal,
    timeoutMs?: number,
  ): Promise<T>;
  single<T>(request: PriceRequest, consume: (response: HttpResponse) => Promise<T>, signal: AbortSignal): Promise<T>;
}

export function createMarketData({ http }: { readonly http: Pick<HttpClient, 'get' | 'post'> }): MarketData {
  return {
    bulkEndpoint: BULK_ENDPOINT,
    bulk(items, consume, signal, timeoutMs) {
      // A ProductMarketDataRequest (part 2.1 of src/provider/README.md). A parameter without a value is omitted.
      const typed = items.map(({ isin, query }) => {
        return { $type: PRICE_KINDS[query.kind].types.request, isin, ...Object.fromEntries(parametersOf(query)) };
      });
      const body = JSON.stringify({ items: typed });
      const limit = timeoutMs === undefined ? {} : { timeoutMs };
      return http.post({ path: BULK_ENDPOINT, query: [], body, ...limit }, consume, signal);
    },
    single({ isin, query }, consume, signal) {
      const parameters = parametersOf(query).flatMap(([name, value]) =>
        [value].flat().map((one) => [name, String(one)] as const),
      );
      const path = (name: string) => `/v1/products/${name}/prices/${query.kind}`;
      const request = {
        path: path(encodeURIComponent(isin.toWellFormed())),
        query: parameters,
        endpoint: path('{isin}'),
        maxBodyBytes: LARGEST_SINGLE_BYTES,
      };
      return http.get(request, consume, signal);
    },
  };
}

export function responseType(kind: PriceQuery['kind']): string {
  return PRICE_KINDS[kind].types.response;
}

/** True if `type` is the `$type` of a response to a request of this kind. Upper and lower case count as equal. */
export function isResponseType(type: unknown, kind: PriceQuery['kind']): boolean {
  const expected = responseType(kind);
  return type === expected || (typeof type === 'string' && type.toLowerCase() === expected.toLowerCase());
}

function parametersOf({ kind: _, ...parameters }: PriceQuery) {
  return Object.entries(parameters).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
}
