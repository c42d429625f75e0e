import type { Dispatcher } from 'undici';
import { ConnectorError } from '../errors.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { openDeadline } from '../support/deadline.ts';
import type { Log } from '../support/log.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { ageSeconds, headerField, serverDate } from './header-fields.ts';
import type { HttpResponse } from './http-response.ts';
import { quotedText } from './quoted-text.ts';
import { ACCEPTED_ENCODINGS, openResponseBody, type ResponseBody } from './response-body.ts';
import { NO_PROBLEM, type ProblemText, readProblem, refusedResponse, unanswered } from './response-error.ts';
import { actionOf } from './status-action.ts';

// The refusal of a bulk request can name a problem of each of its items.
const LARGEST_PROBLEM_BYTES = 65_536;
const LONGEST_PROBLEM_MS = 2_000;
const LONGEST_QUOTE = 80;
const JSON_TYPE = /^(application|text)\/([a-z0-9.!#$&^_-]{1,60}\+)?json$/i;
const OTHER_CHARSET = /charset\s*=\s*"?(?!utf-8\b|utf8\b|us-ascii\b)/i;

/** One request, and its names in messages. */
export interface Exchange {
  readonly dispatcher: Dispatcher;
  readonly name: string;
  readonly endpoint: string;
  /** Names the request in messages: `GET /v1/instruments of referenceData`. */
  readonly from: string;
  readonly method: 'GET' | 'POST';
  readonly origin: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly maxBodyBytes: number;
  readonly timeoutMs: number;
  /** Whether the caller gave it less time than the settings do. */
  readonly isOwnTimeout: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** The outcome. Only a 401 is returned rather than thrown, since it alone has a second try. */
export type ExchangeOutcome<T> =
  | { readonly accepted: true; readonly value: T }
  | { readonly accepted: false; readonly error: ConnectorError };

/** One request and its response under one deadline: connecting, headers, body and `consume` together. */
export async function exchange<T>(
  request: Exchange,
  consume: (response: HttpResponse) => Promise<T>,
  signal: AbortSignal,
): Promise<ExchangeOutcome<T>> {
  const { clock, log, name, endpoint } = request;
  // The network takes real time, also where a test moves the clock.
  const deadline = openDeadline(request.timeoutMs, systemClock, () => timedOut(request), { outer: signal });
  const startedAtMs = clock.monotonicMs();
  try {
    const response = await ask(request, deadline.signal);
    // A body that is destroyed early emits an error, which ends the process when it has no listener.
    response.body.on('error', () => {});
    try {
      return await handle(request, response, consume, deadline.signal);
    } finally {
      response.body.destroy();
      const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
      log.debug({ client: name, endpoint, status: response.statusCode, durationMs }, 'answered');
    }
  } catch (error) {
    throw deadline.signal.aborted ? deadline.signal.reason : error;
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
    // A cached page or event list would be older than what was committed.
    'cache-control': 'no-cache',
    'user-agent': 'structured-products-connect',
    ...(body === null ? {} : { 'content-type': 'application/json' }),
  };
  const headers = Object.fromEntries(
    [request.headers, ours, request.credentials]
      .flatMap((fields) => Object.entries(fields))
      .map(([field, value]) => [field.toLowerCase(), value]),
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
  const { from, endpoint, name, clock } = request;
  const { statusCode: status, headers } = response;
  const error = refusedResponse(code, { from, endpoint, status, headers, problem, wallMs: clock.wallMs(), name });
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
  const contentType = jsonTypeOf(request, response);
  const age = ageSeconds(headers);
  if (age !== null && age > 0) throw violation(request, `from a cache, ${age} s old; configure caches not to answer`);
  const body = openBody(request, response, request.maxBodyBytes, deadline);
  const successful: HttpResponse = {
    status: response.statusCode,
    date: serverDate(headers),
    contentType,
    age,
    encoding: headerField(headers, 'content-encoding'),
    body: body.chunks,
    arrived: body.arrived,
    bytes: body.bytes,
  };
  try {
    const value = await untilAborted(consume(successful), deadline);
    await untilAborted(body.finish(), deadline);
    return value;
  } catch (error) {
    // The reader may have called a broken body malformed; why it broke is the better error.
    throw body.failure() ?? withOrigin(request, error);
  }
}

/** The reader of a response knows what is wrong with it, but not where it came from. */
function withOrigin({ from, endpoint }: Exchange, error: unknown): unknown {
  if (!(error instanceof ConnectorError) || 'endpoint' in error.fields) return error;
  const { code, message, cause, retryAfterMs, fields } = error;
  return new ConnectorError(code, `${from}: ${message}`, { cause, retryAfterMs, fields: { ...fields, endpoint } });
}

function jsonTypeOf(request: Exchange, response: Dispatcher.ResponseData): string {
  const contentType = headerField(response.headers, 'content-type');
  if (contentType === null) throw violation(request, 'without a content type; expected JSON');
  const [media = ''] = contentType.split(';', 1);
  if (!JSON_TYPE.test(media.trim()) || OTHER_CHARSET.test(contentType)) {
    throw violation(request, `with "${quotedText(contentType, LONGEST_QUOTE)}"; expected JSON in UTF-8`);
  }
  return contentType;
}

/** What the body of an error says. Never fails: the status counts, whatever the body is. */
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
    ? 'others were answered sooner, so it is repeated in parts'
    : `ask for less, or raise ${request.name}.timeout`;
  return new ConnectorError(
    'PROVIDER_TIMEOUT',
    `${request.from} took longer than ${request.timeoutMs} ms, body included; ${advice}.`,
    { fields: { endpoint: request.endpoint } },
  );
}
