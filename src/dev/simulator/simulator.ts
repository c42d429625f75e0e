import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type Answer, jsonAnswer, problem, problemText, type Refusals } from './answer.ts';
import { createSimulatorClock, type SimulatorClock } from './clock.ts';
import {
  CONTROL_BASE,
  createControl,
  createRequestLog,
  type RequestLog,
  readBody,
  type SimulatorControl,
} from './control.ts';
import { createFaultScript, type Endpoint, type Fault, type FaultScript } from './faults/fault.ts';
import { type BulkFault, type BulkResult, bulkText, isRefused, spoilPage } from './faults/page-faults.ts';
import { cutShort, hangUp, reset, slowly } from './faults/spoiled-transport.ts';
import { createEventLog, createEventText, parseOffset } from './ledger/event-log.ts';
import { createLedger, createPriceLedger, type PriceLedger } from './ledger/ledger.ts';
import { applyEdits, parseLossless, stringifyLossless } from './ledger/lossless-json.ts';
import { DEFAULTS, type SimulatorOptions, type SimulatorSettings } from './options.ts';
import { type Page, renderPage } from './page.ts';
import { createSimulatedPreTradeChecks } from './pre-trade-checks.ts';
import { readBulkItem, readPriceQuery, type SimulatedPriceKind } from './price-query.ts';
import { createSimulatedReferenceData, REFERENCE_BASE, type SimulatedReferenceData } from './reference-data.ts';
import { createTokens, type Tokens } from './tokens.ts';
import { createChanges } from './universe/changes.ts';
import { createInstrumentFinder, type InstrumentFinder } from './universe/instrument-finder.ts';
import { createInstrumentText } from './universe/instrument-text.ts';
import { createDelisting, createLife } from './universe/life.ts';
import { createPriceWriter, type PriceWriter } from './universe/prices.ts';
import { mix } from './universe/random.ts';
import { createUniverse } from './universe/universe.ts';

interface SimulatedMarketData {
  prices(kind: SimulatedPriceKind, isin: string, parameters: URLSearchParams): Answer;
  bulk(contentType: string | undefined, body: string, faults: readonly Fault[]): Answer;
}

const MARKET_BASE = '/market-data';

function createSimulatedMarketData(parts: {
  settings: SimulatorSettings;
  finder: InstrumentFinder;
  writer: PriceWriter;
  ledger: PriceLedger;
  clock: SimulatorClock;
}): SimulatedMarketData {
  const { settings, finder, writer, ledger, clock } = parts;
  const fails = (key: number) => mix(key, 91) < settings.failingPricesShare * 0x1_0000_0000;

  return {
    prices(kind, isin, parameters) {
      const query = readPriceQuery(kind, parameters);
      if ('refusals' in query) return problem(400, 'The parameters are not valid.', query.refusals);
      const key = finder.keyOf(isin);
      if (key === undefined) return problem(404, 'There is no product with this isin.');
      if (fails(key)) return problem(500, 'The price is not available.');
      return jsonAnswer(ledger.serve(isin, writer, key, query, clock.wallMs()));
    },
    bulk(contentType, body, faults) {
      if (!contentType?.startsWith('application/json')) return problem(415, 'The body must be application/json.');
      const items = readItems(body);
      if (items === undefined)
        return problem(400, 'The body is not valid.', { items: ['The items must be an array.'] });
      if (items.length > settings.maxBulkItems) {
        const refusals = { items: [`At most ${settings.maxBulkItems} items are allowed.`] };
        return problem(settings.bulkRefusalStatus, 'There are too many items.', refusals);
      }
      const read = items.map(readBulkItem);
      const refusals: Record<string, readonly string[]> = {};
      for (const [at, item] of read.entries())
        if ('refusals' in item) Object.assign(refusals, prefixed(at, item.refusals));
      if (Object.keys(refusals).length > 0) return problem(400, 'The items are not valid.', refusals);

      const valid = read.filter((item) => 'isin' in item);
      const bulkFaults = faults.filter((one): one is BulkFault => one.kind === 'bulk');
      const isins = valid.map(({ isin }) => isin);
      if (isRefused(isins, bulkFaults)) {
        return problem(400, 'The items are not valid.', { items: ['One of the items is not valid.'] });
      }
      const nowMs = clock.wallMs();
      const results = valid.map(({ isin, query }): BulkResult => {
        const key = finder.keyOf(isin);
        if (key === undefined) return failed(isin, 404, 'There is no product with this isin.');
        if (fails(key)) return failed(isin, 500, 'The price is not available.');
        return { isin, response: ledger.serve(isin, writer, key, query, nowMs), errorResponse: 'null' };
      });
      return jsonAnswer(bulkText(results, bulkFaults));
    },
  };
}

function failed(isin: string, status: number, detail: string): BulkResult {
  return { isin, response: 'null', errorResponse: problemText(status, detail) };
}

function readItems(body: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const items = typeof value === 'object' && value !== null && 'items' in value ? value.items : undefined;
    return Array.isArray(items) ? items : undefined;
  } catch {
    return undefined;
  }
}

function prefixed(at: number, refusals: Refusals): Refusals {
  return Object.fromEntries(Object.entries(refusals).map(([name, reasons]) => [`items[${at}].${name}`, reasons]));
}

const TOKEN_PATH = '/oauth2/token';
const CODERS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

const MAX_BODY_BYTES = 8 * 2 ** 20;

export interface Simulator extends SimulatorControl {
  readonly url: string;
  readonly referenceDataUrl: string;
  readonly marketDataUrl: string;
  readonly tokenUrl: string;
  readonly controlUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  close(): Promise<void>;
}

/** Starts the simulated provider and resolves when it listens. Rejects if the port is taken. */
export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const settings: SimulatorSettings = { ...DEFAULTS, ...options };
  const clock = options.clock ?? createSimulatorClock();
  const { seed } = settings;

  const text = createInstrumentText({ seed, myShare: settings.myShare });
  const universe = createUniverse({ ...settings, clock });
  const log = createEventLog({ clock, retentionMs: settings.retentionMs, lagMs: settings.eventLagMs });
  const eventText = createEventText(text, settings.eventForm);
  const checks = createSimulatedPreTradeChecks({ seed, clock, universe, text, form: settings.eventForm });
  const changes = createChanges({ universe, log, text, clock });
  const triggerCheck = (id: bigint, raw?: string) => checks.trigger(id, raw).preTradeCheckId;
  const delisting = createDelisting({ ...settings, universe, clock });
  const life = createLife({ ...settings, delisting, universe, changes, clock, triggerCheck });

  const tokens = createTokens({ ...settings, lifetimeSeconds: settings.tokenLifetimeSeconds, clock });
  const faults = createFaultScript(seed, settings.faults);
  const requests = createRequestLog();
  const prices = createPriceLedger(settings.keptPrices);
  const finder = createInstrumentFinder(universe, text, changes.rawIds);
  const listeners: Listeners = new Set();
  const asked = (endpoint: Endpoint, url: URL) => {
    for (const listener of listeners) listener(endpoint, url);
  };
  const reference = createSimulatedReferenceData({ settings, universe, text, log, eventText, checks });
  const market = createSimulatedMarketData({
    settings,
    finder,
    writer: createPriceWriter(),
    ledger: prices,
    clock,
  });
  const api = createApi({ settings, clock, tokens, reference, market, faults, requests, asked });

  const ledger = createLedger({ universe, text, log, eventText, checks, prices });
  const parts = { ledger, requests, universe, changes, life, clock, faults, tokens, log, listeners, triggerCheck };
  const control = createSimulatorControl(parts);
  const controlApi = createControl(control);
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? '/', 'http://simulator.invalid') ?? new URL('http://simulator.invalid/');
    life.catchUp();
    const handle = url.pathname.startsWith(CONTROL_BASE) ? controlApi : api;
    // The handler rejects if the connection is lost, or if a fault does not fit the response. Then the client gets no
    // complete response.
    handle(request, response, url).catch(() => response.destroy());
  });
  const url = await listen(server, settings);
  return Object.assign(control, {
    url,
    referenceDataUrl: url + REFERENCE_BASE,
    marketDataUrl: url + MARKET_BASE,
    tokenUrl: url + TOKEN_PATH,
    controlUrl: url + CONTROL_BASE,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

type Listeners = Set<(endpoint: Endpoint, url: URL) => void>;

interface ControlledParts extends Pick<SimulatorControl, 'ledger' | 'requests'> {
  readonly universe: ReturnType<typeof createUniverse>;
  readonly changes: ReturnType<typeof createChanges>;
  readonly life: ReturnType<typeof createLife>;
  readonly clock: NonNullable<SimulatorOptions['clock']>;
  readonly faults: ReturnType<typeof createFaultScript>;
  readonly tokens: ReturnType<typeof createTokens>;
  readonly log: ReturnType<typeof createEventLog>;
  readonly listeners: Listeners;
  readonly triggerCheck: (id: bigint, raw?: string) => string;
}

function createSimulatorControl(parts: ControlledParts): SimulatorControl {
  const { ledger, requests, universe, changes, life, clock, faults, tokens, log, listeners, triggerCheck } = parts;
  return {
    ledger,
    requests,
    get size() {
      return universe.size;
    },
    has: (id) => universe.has(BigInt(id)),
    publish: (change) => changes.apply(change),
    triggerCheck: (id, raw) => triggerCheck(BigInt(id), raw),
    change: (count) => life.change(count),
    setChangeRate: (rate) => life.setRate(rate),
    setListLag: (ms) => universe.setListLag(ms),
    failOver(to) {
      log.failOver(to);
      universe.setListLag(to?.lagMs ?? 0);
    },
    advanceClock: (ms) => clock.advance(ms),
    wallMs: () => clock.wallMs(),
    injectFaults: (rules) => faults.inject(rules),
    clearFaults: () => faults.clear(),
    faultRules: () => faults.rules,
    faultsStruck: () => Object.fromEntries(faults.struck),
    expireTokens: () => tokens.invalidateAll(),
    rotateSigningKey: () => tokens.keys.rotate(),
    signingKeys: () => tokens.keys.published(),
    onRequest(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    resetStream: (to) => log.reset(offsetOf(to)),
  };
}

async function listen(server: Server, { port, host }: SimulatorSettings): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  const address = server.address() as AddressInfo;
  return `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${address.port}`;
}

function offsetOf(text: string) {
  const offset = parseOffset(text);
  if (!offset) throw new RangeError('The offset does not have the form <digits>-<digits>.');
  return offset;
}

interface ApiParts {
  readonly settings: SimulatorSettings;
  readonly clock: SimulatorClock;
  readonly tokens: Tokens;
  readonly reference: SimulatedReferenceData;
  readonly market: SimulatedMarketData;
  readonly faults: FaultScript;
  readonly requests: RequestLog;
  /** Called before the response to each accepted request, so that a test can act at this moment. */
  readonly asked: (endpoint: Endpoint, url: URL) => void;
}

/**
 * Answers requests for reference data, market data and tokens. First applies the delays of faults. If no fault replaces
 * the response, verifies the token and calls the endpoint. Finally applies the faults that change the response.
 */
function createApi(parts: ApiParts): (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void> {
  const { settings, clock, tokens, reference, market, faults, requests } = parts;
  const askedBefore = new Map<Endpoint, URL>();

  const finish = (endpoint: Endpoint, url: URL, page: Page, struck: readonly Fault[]): Buffer => {
    const spoiled = spoilPage(page, struck, {
      seed: settings.seed,
      cursor: endpoint.startsWith('instruments') ? 'minId' : 'since',
      self: url,
      previous: askedBefore.get(endpoint),
    });
    askedBefore.set(endpoint, url);
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
    const struck = typeof found === 'object' ? faults.take(found.endpoint, body) : [];
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
      const replaced = replacement(struck);
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

function spoilAnswer(answer: Answer, faults: readonly Fault[]): Answer {
  let { headers, body } = answer;
  for (const fault of faults) {
    if (fault.kind === 'edit')
      body = Buffer.from(stringifyLossless(applyEdits(parseLossless(body.toString()), fault.edits)));
    if (fault.kind === 'cutJson') body = body.subarray(0, Math.max(0, body.length - (fault.characters ?? 2)));
    if (fault.kind === 'byte') body = withByte(body, fault.text, fault.byte);
    if (fault.kind === 'headers') headers = { ...headers, ...fault.headers };
    if (fault.kind === 'compress') {
      for (const coding of fault.codings) body = CODERS[coding](body);
      headers = { ...headers, 'content-encoding': fault.codings.join(', ') };
    }
  }
  return { status: answer.status, headers, body };
}

function withByte(body: Buffer, text: string, byte: number): Buffer {
  const at = body.indexOf(text);
  if (at < 0) return body;
  return Buffer.concat([body.subarray(0, at), Uint8Array.of(byte), body.subarray(at + Buffer.byteLength(text))]);
}

/** The response of a fault that replaces the endpoint's own response; undefined without such a fault. */
function replacement(faults: readonly Fault[]): Answer | undefined {
  for (const fault of faults) {
    if (fault.kind === 'status') {
      const body =
        fault.body ?? JSON.stringify({ title: 'Simulated', status: fault.status, detail: 'A simulated fault.' });
      const answer = jsonAnswer(body, fault.status);
      const after = fault.retryAfterSeconds?.toString();
      const contentType = fault.contentType ?? 'application/problem+json';
      return {
        ...answer,
        headers: { 'content-type': contentType, ...(after !== undefined && { 'retry-after': after }) },
      };
    }
    if (fault.kind === 'redirect') {
      return { status: fault.status ?? 302, headers: { location: fault.location }, body: Buffer.alloc(0) };
    }
    if (fault.kind === 'body') {
      const answer = jsonAnswer(fault.body, fault.status ?? 200);
      return {
        ...answer,
        headers: { ...answer.headers, ...(fault.contentType && { 'content-type': fault.contentType }) },
      };
    }
  }
  return undefined;
}

async function send(
  response: ServerResponse,
  answer: Answer,
  faults: readonly Fault[],
  clock: SimulatorClock,
): Promise<void> {
  const { status, body } = answer;
  response.sendDate = false;
  const headers = { date: new Date(clock.wallMs()).toUTCString(), ...answer.headers };
  for (const fault of faults) {
    if (fault.kind === 'reset') return reset(response, { status, headers, body }, fault.share ?? 0.5, clock);
    if (fault.kind === 'truncate') return cutShort(response, { status, headers, body }, fault.how, fault.share ?? 0.5);
    if (fault.kind === 'slow') return slowly(response, { status, headers, body }, fault, clock);
  }
  response.writeHead(status, { ...headers, 'content-length': String(body.length) });
  response.end(body);
}

interface Route {
  readonly endpoint: Endpoint;
  readonly method: 'GET' | 'POST';
  /** If the path contains an isin or a pre-trade check's id, the pattern captures it as a group. */
  readonly path: RegExp;
}

const ROUTES: readonly Route[] = [
  { endpoint: 'token', method: 'POST', path: route(TOKEN_PATH) },
  { endpoint: 'instruments', method: 'GET', path: route(`${REFERENCE_BASE}/v1/instruments`) },
  { endpoint: 'instruments-my', method: 'GET', path: route(`${REFERENCE_BASE}/v1/instruments/my`) },
  { endpoint: 'events', method: 'GET', path: route(`${REFERENCE_BASE}/v1/instruments/events`) },
  { endpoint: 'events-my', method: 'GET', path: route(`${REFERENCE_BASE}/v1/instruments/events/my`) },
  { endpoint: 'pre-trade-checks', method: 'GET', path: route(`${REFERENCE_BASE}/v1/pretradechecks`) },
  { endpoint: 'pre-trade-check', method: 'GET', path: route(`${REFERENCE_BASE}/v1/pretradechecks/id/([^/]+)`) },
  { endpoint: 'bulk', method: 'POST', path: route(`${MARKET_BASE}/v1/products/bulk`) },
  { endpoint: 'intraday', method: 'GET', path: route(`${MARKET_BASE}/v1/products/([^/]+)/prices/intraday`) },
  { endpoint: 'daily', method: 'GET', path: route(`${MARKET_BASE}/v1/products/([^/]+)/prices/daily`) },
  { endpoint: 'overview', method: 'GET', path: route(`${MARKET_BASE}/v1/products/([^/]+)/prices/overview`) },
];

/** The endpoint of a request; `wrongMethod` if the endpoint has another method; undefined if there is no endpoint. */
function findRoute(method: string, path: string): { endpoint: Endpoint; argument: string } | 'wrongMethod' | undefined {
  const routes = ROUTES.filter((one) => one.path.test(path));
  const found = routes.find((one) => one.method === method);
  if (!found) return routes.length > 0 ? 'wrongMethod' : undefined;
  return { endpoint: found.endpoint, argument: decoded(found.path.exec(path)?.[1] ?? '') };
}

function route(path: string): RegExp {
  return new RegExp(`^${path}$`);
}

/** A path segment with wrong percent-encoding stays unchanged: no resource has such a name. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
