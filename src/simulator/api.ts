import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Answer, problem } from './answer.ts';
import type { SimulatorClock } from './clock.ts';
import type { Endpoint, Fault } from './faults/fault.ts';
import type { FaultScript } from './faults/fault-script.ts';
import { spoilPage } from './faults/page-faults.ts';
import { hangUp } from './faults/spoiled-transport.ts';
import type { SimulatedMarketData } from './market-data.ts';
import type { SimulatorSettings } from './options.ts';
import { type Page, type PageRow, renderPage } from './page.ts';
import type { SimulatedReferenceData } from './reference-data.ts';
import { readBody } from './request-body.ts';
import type { RequestLog } from './request-log.ts';
import { findRoute } from './routes.ts';
import { replacement, send, spoilAnswer } from './send.ts';
import type { Tokens } from './tokens.ts';

/** Larger request bodies get 413. */
const MAX_BODY_BYTES = 8 * 2 ** 20;

export interface ApiParts {
  readonly settings: SimulatorSettings;
  readonly clock: SimulatorClock;
  readonly tokens: Tokens;
  readonly reference: SimulatedReferenceData;
  readonly market: SimulatedMarketData;
  readonly faults: FaultScript;
  readonly requests: RequestLog;
  /** Called with each request before it is answered, so that a test can let something happen just then. */
  readonly asked: (endpoint: Endpoint, url: URL) => void;
  /** Called with rows that a fault has changed. */
  readonly poisoned: (id: bigint) => void;
}

/** Answers the requests of both interfaces and of the token endpoint: faults, token, endpoint, faults again. */
export function createApi(
  parts: ApiParts,
): (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void> {
  const { settings, clock, tokens, reference, market, faults, requests } = parts;
  const pagesBefore = new Map<Endpoint, { self: URL; rows: readonly PageRow[] }>();

  const finish = (endpoint: Endpoint, url: URL, page: Page, struck: readonly Fault[]): Buffer => {
    const before = pagesBefore.get(endpoint);
    const spoiled = spoilPage(page, struck, {
      seed: settings.seed,
      cursor: endpoint.startsWith('instruments') ? 'minId' : 'since',
      self: url,
      previous: before?.self,
      previousRows: () => before?.rows ?? [],
      poisoned: parts.poisoned,
    });
    pagesBefore.set(endpoint, { self: url, rows: page.rows });
    return renderPage(spoiled);
  };
  const pages = pagesOf(reference);
  const answerOf = (found: { endpoint: Endpoint; argument: string }, call: Call): Answer => {
    const { endpoint, argument } = found;
    const page = pages[endpoint]?.(call.url.searchParams);
    if (page) {
      if ('status' in page) return page;
      const body = finish(endpoint, call.url, page, call.struck);
      return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
    }
    const { 'content-type': contentType } = call.request.headers;
    if (endpoint === 'token') return tokens.grant(call.request.headers.authorization, contentType, call.body);
    if (endpoint === 'bulk') return market.bulk(contentType, call.body, call.struck);
    if (endpoint === 'pre-trade-check') return reference.preTradeCheck(argument);
    const kind = endpoint === 'overview' || endpoint === 'daily' ? endpoint : 'intraday';
    return market.prices(kind, argument, call.url.searchParams);
  };

  return async (request, response, url) => {
    const body = await readBody(request, MAX_BODY_BYTES);
    const found = findRoute(request.method ?? 'GET', url.pathname);
    const struck = typeof found === 'object' ? faults.take(found.endpoint) : [];
    const seen = {
      endpoint: typeof found === 'object' ? found.endpoint : ('unknown' as const),
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.search,
      atMs: clock.wallMs(),
      faults: struck.map(({ kind }) => kind),
    };
    for (const fault of struck) {
      if (fault.kind === 'delay') await clock.sleep(fault.ms, hangUp(response));
      if (fault.kind === 'expireTokens') tokens.invalidateAll();
    }
    const answer = ((): Answer => {
      if (found === undefined) return problem(404, 'There is no such endpoint.');
      if (found === 'wrongMethod') return problem(405, 'The endpoint does not know this method.');
      if (body === undefined) return problem(413, 'The body is too large.');
      const replaced = replacement(struck, clock.wallMs());
      if (replaced) return replaced;
      const isOpen = found.endpoint === 'token' || !settings.auth;
      const refusal = isOpen ? undefined : tokens.refusal(request.headers.authorization);
      if (refusal !== undefined) return problem(401, refusal);
      parts.asked(found.endpoint, url);
      return answerOf(found, { request, url, body, struck });
    })();
    requests.add({ ...seen, status: answer.status });
    await send(response, spoilAnswer(answer, struck), struck, clock);
  };
}

interface Call {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly body: string;
  readonly struck: readonly Fault[];
}

function pagesOf(
  reference: ApiParts['reference'],
): Partial<Record<Endpoint, (parameters: URLSearchParams) => Page | Answer>> {
  return {
    instruments: (parameters) => reference.instruments(parameters, false),
    'instruments-my': (parameters) => reference.instruments(parameters, true),
    events: (parameters) => reference.events(parameters, false),
    'events-my': (parameters) => reference.events(parameters, true),
    'pre-trade-checks': (parameters) => reference.preTradeChecks(parameters),
  };
}
