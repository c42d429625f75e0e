import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { Log } from '../support/log.ts';
import { parseAddress, requestTarget } from './address.ts';
import type { Authorization, Credentials } from './credentials.ts';
import { openCurrentDispatcher } from './current-dispatcher.ts';
import type { NetworkOptions } from './dispatcher.ts';
import { type Exchange, exchange } from './exchange.ts';
import type { HttpResponse } from './http-response.ts';
import { observedExchange } from './observed-exchange.ts';
import type { RequestEndpoint, RequestTurns } from './request-turns.ts';

// More than the sources and price batches that ask at once, since a request that waits for a connection has passed its
// gate already; the rate limit is the real bound.
const CONNECTIONS = 40;

export interface HttpRequest {
  /** Absolute path below the base address, already percent-encoded. Never taken from a response. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Further header fields; cannot replace ours. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Cap of the decoded body in bytes when it differs from the client's. */
  readonly maxBodyBytes?: number;
  /** Longest time for the request when it is shorter than the client's. */
  readonly timeoutMs?: number;
  /** What messages and logs call the path, such as `/v1/pretradechecks/id/{id}`; the path itself by default. */
  readonly endpoint?: string;
}

/**
 * One interface of the provider over HTTP. Every call is one attempt; the caller's loop repeats. The exception is a 401:
 * new credentials are requested once, and the request is repeated once with them. While an endpoint is held back by a
 * refusal, calls of it send nothing and are rejected at once, with PROVIDER_BUSY and the remaining time as
 * `retryAfterMs`.
 *
 * Rejects with a ConnectorError: PROVIDER_UNREACHABLE, PROVIDER_TIMEOUT (headers and body and `consume` together took
 * longer than the time-out), PROVIDER_BUSY, PROVIDER_UNAUTHORIZED, PROVIDER_REFUSED, PROVIDER_ASKS_FOR_LESS,
 * PROVIDER_REDIRECT, PROTOCOL_VIOLATION, TOKEN_FAILED or a BODY_… code; with the signal's reason when the caller
 * aborts; and with what `consume` throws: a ConnectorError without an endpoint gets that of the request. Errors
 * for a status carry `fields: { status, endpoint }`, and `retryAfterMs` when the server names a time. A 400 is
 * PROVIDER_REFUSED: the caller, who knows whether it can ask for less, looks at `fields.status`.
 */
export interface HttpClient {
  /** @param consume reads the response; runs within the request's deadline, and may leave the body's rest unread */
  get<T>(request: HttpRequest, consume: (response: HttpResponse) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** As `get`, with a JSON text as the body. */
  post<T>(
    request: HttpRequest & { readonly body: string },
    consume: (response: HttpResponse) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
  /** Obtains the credentials before the first request needs them. Rejects as `Authorization.headers` does. */
  login(signal: AbortSignal): Promise<void>;
  /** How many processes ask this interface: each gets its share of the rate limit. One by default. */
  share(processes: number): void;
  /** Cuts what is under way and closes all connections. */
  close(): Promise<void>;
}

export interface HttpClientOptions extends NetworkOptions {
  readonly name: 'referenceData' | 'marketData';
  readonly baseUrl: string;
  /** Plain http beyond loopback. */
  readonly allowHttp: boolean;
  /** Cap of a decoded body in bytes. */
  readonly maxBodyBytes: number;
  readonly authorization: Authorization;
  readonly turns: RequestTurns;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: HttpObserver | undefined;
}

/** Throws SETTINGS_INVALID when an option cannot be used. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { name, authorization, turns, clock, log, observer } = options;
  const base = parseAddress(options.baseUrl, `${name}.url`, options.allowHttp);
  if (base.search !== '') throw new ConnectorError('SETTINGS_INVALID', `${name}.url holds a query (?…); remove it.`);
  const connections = openCurrentDispatcher(base, options, CONNECTIONS);

  async function send<T>(
    method: 'GET' | 'POST',
    request: HttpRequest & { readonly body?: string },
    consume: (response: HttpResponse) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const endpoint = request.endpoint ?? request.path;
    const common = {
      name,
      endpoint,
      from: `${method} ${endpoint} of ${name}`,
      method,
      origin: base.origin,
      target: requestTarget(base, request.path, request.query),
      headers: request.headers ?? {},
      body: request.body ?? null,
      maxBodyBytes: request.maxBodyBytes ?? options.maxBodyBytes,
      timeoutMs: Math.min(options.timeoutMs, request.timeoutMs ?? Number.POSITIVE_INFINITY),
      isOwnTimeout: (request.timeoutMs ?? Number.POSITIVE_INFINITY) < options.timeoutMs,
      clock,
      log,
    } satisfies Omit<Exchange, 'credentials' | 'dispatcher'>;

    const asked: RequestEndpoint = {
      key: `${base.origin}${base.pathname} ${endpoint}`,
      path: endpoint,
      from: common.from,
    };
    const exchangeWith = async (credentials: Credentials) => {
      await turns.take(asked, signal);
      const dispatcher = await connections.get();
      const observed = { client: name, endpoint, clock, observer, signal };
      try {
        const sent = await observedExchange(observed, consume, (use) =>
          exchange({ ...common, dispatcher, credentials }, use, signal),
        );
        if (sent.accepted) turns.answered(asked);
        return sent;
      } catch (error) {
        if (isRefusal(error)) turns.refused(asked, { status: error.fields.status, retryAfterMs: error.retryAfterMs });
        throw error;
      }
    };

    const credentials = await authorization.headers(signal);
    const first = await exchangeWith(credentials);
    if (first.accepted) return first.value;
    const renewed = await authorization.renew(credentials, signal);
    if (renewed === null) throw first.error;
    log.info({ client: name, endpoint }, 'the credentials were refused and renewed; the request is repeated once');
    const second = await exchangeWith(renewed);
    if (second.accepted) return second.value;
    throw second.error;
  }

  return {
    get: (request, consume, signal) => send('GET', request, consume, signal),
    post: (request, consume, signal) => send('POST', request, consume, signal),
    login: async (signal) => void (await authorization.headers(signal)),
    share: turns.share,
    close: () => connections.close(),
  };
}

/** Whether the provider answered with a status that we cannot use; code that reads a response never throws such an error. */
function isRefusal(error: unknown): error is ConnectorError & { readonly fields: { readonly status: number } } {
  return error instanceof ConnectorError && /^PROVIDER_/.test(error.code) && typeof error.fields.status === 'number';
}
