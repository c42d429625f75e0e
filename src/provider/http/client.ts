import type { Dispatcher } from 'undici';
import { ConnectorError } from '../../errors.ts';
import { type Clock, systemClock } from '../../support/clock.ts';
import { openDeadline } from '../../support/deadline.ts';
import type { HttpObserver } from '../../support/http-observer.ts';
import type { Log } from '../../support/log.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import { parseAddress, requestTarget } from './address.ts';
import { type Authorization, type AuthorizationOptions, type Credentials, loginOf } from './credentials.ts';
import { openCurrentDispatcher } from './dispatcher.ts';
import { ageSeconds, type HttpResponse, headerField, serverDate } from './http-response.ts';
import { quotedText } from './quoted-text.ts';
import type { RequestEndpoint } from './request-turns.ts';
import { ACCEPTED_ENCODINGS, openResponseBody, type ResponseBody } from './response-body.ts';
import { actionOf, NO_PROBLEM, type ProblemText, readProblem, refusedResponse, unanswered } from './response-error.ts';

const LARGEST_PROBLEM_BYTES = 65_536;
const LONGEST_PROBLEM_MS = 2_000;
const LONGEST_QUOTE = 80;
const JSON_TYPE = /^(application|text)\/([a-z0-9.!#$&^_-]{1,60}\+)?json$/i;
const OTHER_CHARSET = /charset\s*=\s*"?(?!utf-8\b|utf8\b|us-ascii\b)/i;

const CONNECTIONS = 40;

export interface HttpRequest {
  /** The absolute path below the base address, already percent-encoded; never taken from a response. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly maxBodyBytes?: number;
  readonly timeoutMs?: number;
  /** The path in messages and logs, such as `/v1/pretradechecks/id/{id}`; by default `path`. */
  readonly endpoint?: string;
}

/**
 * Sends requests to one interface of the provider over HTTP. A failed request is not repeated, with one exception:
 * after a 401, the request is sent once more with renewed credentials. If the signal aborts, the call rejects.
 *
 * - PROVIDER_BUSY: a status such as 503. Or an earlier refusal closed the endpoint: then no request was sent, and
 *   `retryAfterMs` is the time until the endpoint is open again.
 * - PROVIDER_TIMEOUT: headers, body and `consume` together took longer than the time limit.
 * - PROVIDER_REFUSED: a 4xx status without its own code, such as 400. The caller decides if a smaller request follows.
 * - Other codes: PROVIDER_UNREACHABLE, PROVIDER_UNAUTHORIZED, PROVIDER_ASKS_FOR_LESS, PROVIDER_REDIRECT,
 *   PROTOCOL_VIOLATION, TOKEN_FAILED and the BODY_… codes.
 *
 * An error that a status caused has `fields: { status, endpoint }`. It has `retryAfterMs` if the response has
 * Retry-After. An error of `consume` is passed on; a ConnectorError without the field `endpoint` gets this field.
 */
export interface HttpClient {
  /** @param consume reads the response within the request's deadline, and may leave the rest of the body unread */
  get<T>(request: HttpRequest, consume: (response: HttpResponse) => Promise<T>, signal: AbortSignal): Promise<T>;
  post<T>(
    request: HttpRequest & { readonly body: string },
    consume: (response: HttpResponse) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
  /** Sets how many processes use this interface; each gets an equal share of the rate limit. The default is 1. */
  share(processes: number): void;
  close(): Promise<void>;
}

export interface HttpClientOptions extends Omit<AuthorizationOptions, 'random'> {
  readonly name: 'referenceData' | 'marketData';
  readonly baseUrl: string;
  readonly maxBodyBytes: number;
  readonly authorization: Authorization;
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { name, authorization, turns, clock, log, observer } = options;
  const base = parseAddress(options.baseUrl, `${name}.url`, options.allowHttp);
  if (base.search !== '') throw new ConnectorError('SETTINGS_INVALID', `${name}.url holds a query (?…); remove it.`);
  const connections = openCurrentDispatcher(base, options, CONNECTIONS);
  const address = base.href.replace(/\/$/, '');

  async function send<T>(
    method: 'GET' | 'POST',
    request: HttpRequest & { readonly body?: string },
    consume: (response: HttpResponse) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const endpoint = request.endpoint ?? request.path;
    const { timeoutMs = Number.POSITIVE_INFINITY } = request;
    const common = {
      name,
      login: loginOf(options),
      endpoint,
      from: `${method} ${address}${endpoint} of ${name}`,
      method,
      origin: base.origin,
      target: requestTarget(base, request.path, request.query),
      body: request.body ?? null,
      maxBodyBytes: request.maxBodyBytes ?? options.maxBodyBytes,
      timeoutMs: Math.min(options.timeoutMs, timeoutMs),
      isOwnTimeout: timeoutMs < options.timeoutMs,
      clock,
      log,
      observer,
    };
    const asked: RequestEndpoint = {
      key: `${base.origin}${base.pathname} ${endpoint}`,
      path: endpoint,
      from: common.from,
    };
    const exchangeWith = async (credentials: Credentials) => {
      await turns.take(asked, signal);
      const dispatcher = await connections.get();
      try {
        const sent = await exchange({ ...common, dispatcher, credentials }, consume, signal);
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
    share: turns.share,
    close: () => connections.close(),
  };
}

/** True for an error that a status caused. Code that reads a body never throws such an error. */
function isRefusal(error: unknown): error is ConnectorError & { readonly fields: { readonly status: number } } {
  return error instanceof ConnectorError && /^PROVIDER_/.test(error.code) && typeof error.fields.status === 'number';
}

function codeOf(error: unknown): string {
  if (!(error instanceof ConnectorError)) return 'OTHER';
  const { status } = error.fields;
  return typeof status === 'number' ? String(status) : error.code;
}

interface Exchange {
  readonly dispatcher: Dispatcher;
  readonly name: string;
  readonly login: string;
  readonly endpoint: string;
  readonly from: string;
  readonly method: 'GET' | 'POST';
  readonly origin: string;
  readonly target: string;
  readonly credentials: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly maxBodyBytes: number;
  readonly timeoutMs: number;
  readonly isOwnTimeout: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: HttpObserver | undefined;
}

type ExchangeOutcome<T> =
  | { readonly accepted: true; readonly value: T }
  | { readonly accepted: false; readonly error: ConnectorError };

/** Sends one request and reads the response within one deadline. A request that the caller aborts is not reported. */
async function exchange<T>(
  request: Exchange,
  consume: (response: HttpResponse) => Promise<T>,
  signal: AbortSignal,
): Promise<ExchangeOutcome<T>> {
  const { clock, log, name, endpoint, observer } = request;
  // The deadline uses the system clock: the network takes real time, even if a test moves the clock.
  const deadline = openDeadline(request.timeoutMs, systemClock, () => timedOut(request), { outer: signal });
  const startedAtMs = clock.monotonicMs();
  let bytes = () => 0;
  const ended = (code: string) => {
    const durationMs = clock.monotonicMs() - startedAtMs;
    observer?.requested({ client: name, endpoint, code, durationMs, bytes: bytes() });
  };
  try {
    const response = await ask(request, deadline.signal);
    // A body that is destroyed early emits an error; without a listener, this error ends the process.
    response.body.on('error', () => {});
    const used = (came: HttpResponse) => {
      bytes = came.bytes;
      // The Date header is rounded down to whole seconds, so the header is 500 ms too early on average.
      if (came.date !== null) observer?.clockSeen({ clock: name, aheadMs: came.date + 500 - clock.wallMs() });
      return consume(came);
    };
    try {
      const outcome = await handle(request, response, used, deadline.signal);
      ended(outcome.accepted ? String(response.statusCode) : codeOf(outcome.error));
      return outcome;
    } finally {
      response.body.destroy();
      const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
      log.debug({ client: name, endpoint, status: response.statusCode, durationMs }, 'request answered');
    }
  } catch (caught) {
    const error = deadline.signal.aborted ? deadline.signal.reason : caught;
    if (!signal.aborted) ended(codeOf(error));
    throw error;
  } finally {
    deadline.end();
  }
}

async function ask(request: Exchange, deadline: AbortSignal): Promise<Dispatcher.ResponseData> {
  const { dispatcher, origin, target, method, body } = request;
  const ours = {
    host: new URL(origin).host,
    accept: 'application/json',
    'accept-encoding': ACCEPTED_ENCODINGS,
    // A cached page or event list can be older than the state that is already committed.
    'cache-control': 'no-cache',
    'user-agent': 'structured-products-connect',
    ...(body === null ? {} : { 'content-type': 'application/json' }),
  };
  const headers = Object.fromEntries(
    Object.entries({ ...ours, ...request.credentials }).map(([field, value]) => [field.toLowerCase(), value]),
  );
  try {
    deadline.throwIfAborted();
    const sent = dispatcher.request({ origin, path: target, method, headers, body, signal: deadline });
    return await untilAborted(sent, deadline);
  } catch (cause) {
    throw unanswered(cause, request.from, request.name);
  }
}

async function handle<T>(
  request: Exchange,
  response: Dispatcher.ResponseData,
  consume: (response: HttpResponse) => Promise<T>,
  deadline: AbortSignal,
): Promise<ExchangeOutcome<T>> {
  const action = actionOf(response.statusCode);
  if (action === 'consume') return { accepted: true, value: await read(request, response, consume, deadline) };
  const problem = await problemOf(request, response, deadline);
  deadline.throwIfAborted();
  const code = action === 'renewAuthorization' ? 'PROVIDER_UNAUTHORIZED' : action;
  const { statusCode: status, headers } = response;
  const error = refusedResponse(code, { ...request, status, headers, problem, wallMs: request.clock.wallMs() });
  if (action === 'renewAuthorization') return { accepted: false, error };
  throw error;
}

async function read<T>(
  request: Exchange,
  response: Dispatcher.ResponseData,
  consume: (response: HttpResponse) => Promise<T>,
  deadline: AbortSignal,
): Promise<T> {
  const { headers } = response;
  assertJson(request, response);
  const age = ageSeconds(headers);
  if (age !== null && age > 0) throw violation(request, `from a cache, ${age} s old; disable the cache for the API`);
  const body = openBody(request, response, request.maxBodyBytes, deadline);
  const successful: HttpResponse = {
    date: serverDate(headers),
    body: body.chunks,
    arrived: body.arrived,
    bytes: body.bytes,
  };
  try {
    const value = await untilAborted(consume(successful), deadline);
    await untilAborted(body.finish(), deadline);
    return value;
  } catch (error) {
    // If the body broke, `consume` can report malformed JSON. The error that broke the body says more.
    throw body.failure() ?? withOrigin(request, error);
  }
}

/** Adds the request and its endpoint to an error of `consume`, which does not know the request. */
function withOrigin({ from, endpoint }: Exchange, error: unknown): unknown {
  if (!(error instanceof ConnectorError) || 'endpoint' in error.fields) return error;
  const { code, message, cause, retryAfterMs, fields } = error;
  return new ConnectorError(code, `${from}: ${message}`, { cause, retryAfterMs, fields: { ...fields, endpoint } });
}

function assertJson(request: Exchange, response: Dispatcher.ResponseData): void {
  const contentType = headerField(response.headers, 'content-type');
  if (contentType === null) throw violation(request, 'without a content type; expected JSON');
  const [media = ''] = contentType.split(';', 1);
  if (!JSON_TYPE.test(media.trim()) || OTHER_CHARSET.test(contentType)) {
    const advice = /html/i.test(media)
      ? `. A proxy or another service sent a web page. Check ${request.name}.url and .proxy`
      : '';
    throw violation(request, `with "${quotedText(contentType, LONGEST_QUOTE)}"; expected JSON in UTF-8${advice}`);
  }
}

async function problemOf(
  request: Exchange,
  response: Dispatcher.ResponseData,
  outer: AbortSignal,
): Promise<ProblemText> {
  const deadline = openDeadline(LONGEST_PROBLEM_MS, systemClock, () => timedOut(request), { outer });
  const secrets = Object.values(request.credentials).flatMap((value) => [value, ...value.split(' ')]);
  try {
    const body = openBody(request, response, LARGEST_PROBLEM_BYTES, deadline.signal);
    return await untilAborted(readProblem(body, secrets), deadline.signal);
  } catch {
    return NO_PROBLEM;
  } finally {
    deadline.end();
  }
}

function openBody(
  request: Exchange,
  response: Dispatcher.ResponseData,
  maxBodyBytes: number,
  signal: AbortSignal,
): ResponseBody {
  const encoding = headerField(response.headers, 'content-encoding');
  const capSetting = `${request.name}.maxBodyBytes`;
  return openResponseBody({ stream: response.body, encoding, maxBodyBytes, from: request.from, capSetting, signal });
}

function violation(request: Exchange, what: string): ConnectorError {
  return new ConnectorError('PROTOCOL_VIOLATION', `${request.from} was answered ${what}.`, {
    fields: { endpoint: request.endpoint },
  });
}

function timedOut(request: Exchange): ConnectorError {
  const advice = request.isOwnTimeout
    ? `a limit that follows the times of other responses, within ${request.name}.timeout. The connector repeats the request. Ask the provider for the reason, if it lasts`
    : `if this lasts, raise ${request.name}.timeout`;
  return new ConnectorError(
    'PROVIDER_TIMEOUT',
    `${request.from} took longer than ${request.timeoutMs} ms, body included; ${advice}.`,
    { fields: { endpoint: request.endpoint } },
  );
}
