import type { PriceQuery } from '../config/price-kinds/all.ts';
import type { Settings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { HttpClient } from '../provider/http/client.ts';
import type { HttpResponse } from '../provider/http/http-response.ts';
import { createMarketData, responseType } from '../provider/market-data.ts';
import { eventStreamStart, newestEventOffset, nextEventOffset, nextInstrumentCursor } from '../provider/page-link.ts';
import { newestCheckOffset, nextCheckOffset } from '../provider/pre-trade-checks.ts';
import type { ReferenceData } from '../provider/reference-data.ts';
import { recordDigest } from '../records/avro/record-digest.ts';
import { readJson } from '../records/json/json-scanner.ts';
import type { JsonObject, JsonValue } from '../records/json/json-value.ts';
import type { InstrumentsProvider } from '../sources/tasks/instruments-provider.ts';
import { systemClock } from '../support/clock.ts';
import { loadWithoutKafka } from './command-settings.ts';
import { atMarketData, atProvider, type ProviderSession } from './provider-session.ts';
import { print, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

/** `doctor`: the provider's behaviour where its interface says nothing, beside our assumptions. */
export async function doctorCommand(context: CommandContext): Promise<void> {
  const { stderr, signal, exitWith, redaction } = context;
  const settings = await loadWithoutKafka(context);
  const examined = await atProvider({ settings, signal }, (session) => examine(session, settings, signal));
  const findings = examined.map((one) => ({ ...one, found: redaction.redact(one.found) }));
  const rows = findings.map(({ what, found, assumed, state }) => [state, what, found, assumed]);
  print(context, findings, textTable([['', 'finding', 'found', 'assumed'], ...rows]));
  if (findings.every(({ state }) => state !== 'differs')) return;
  stderr.write('The provider differs from what the connector assumes: see part 10 of src/provider/README.md.\n');
  exitWith(EXIT_CODES.failed);
}

interface Finding {
  readonly what: string;
  readonly found: string;
  readonly assumed: string;
  /** `unknown`: nothing could be found out. */
  readonly state: 'ok' | 'differs' | 'unknown';
}

function finding(what: string, found: string, assumed: string, isAsAssumed: boolean | null): Finding {
  return { what, found, assumed, state: isAsAssumed === null ? 'unknown' : isAsAssumed ? 'ok' : 'differs' };
}

/** The version of the interface's description that these checks follow. */
const INTERFACE_VERSION = '1.13.62';
const OVERVIEW: PriceQuery = { kind: 'overview', fields: ['LastPrice'] };
/** A row and its neighbour: the provider's cursor may include the row that it names, or not. */
const NEIGHBOURS = 2;
const PRICED = 20;
const FIRST_ROWS = 3;
const HIGHEST_ID = '9223372036854775807';
const OLDEST_OFFSET = '0-0';
const NO_OFFSET = 'no-offset';
/** Beyond the limits of the settings: the interface documents none. */
const LARGER_LIMITS = [10_000, 2_000];
const LARGER_ANSWERS = [10_000, 1_000];
const LARGEST_SKEW_MS = 60_000;
/** The list is read so often until it has the state of an event. */
const LAG_LOOKS = 10;
const LAG_PAUSE_MS = 1_000;

/**
 * Reads only: fewer than 40 requests, within the rate limit of the settings.
 *
 * @throws ConnectorError SETTINGS_INVALID when no source reads instruments or events; and as the provider's client does
 *   when not even a first page can be read.
 */
async function examine(session: ProviderSession, settings: Settings, signal: AbortSignal): Promise<readonly Finding[]> {
  const source = settings.sources.find((one) => one.type !== 'pre-trade-checks');
  if (source === undefined) {
    throw new ConnectorError('SETTINGS_INVALID', 'No source of the settings reads instruments or events.');
  }
  const { referenceData, provider } = session.instruments(source, NEIGHBOURS);
  const list = await probeList(referenceData, source.type === 'instruments' ? source.limit : 1, signal);
  const findings = [...list.findings];
  if (list.streamStart !== null) {
    findings.push(...(await probeStream(referenceData, source.maxEvents, list.streamStart, signal)));
    const marginMs = source.type === 'instruments' ? source.handoffMarginMs : 0;
    findings.push(await probeLag(provider, list.streamStart, marginMs, signal));
  }
  if (list.ids.length > 0) {
    findings.push(await probeChecks(session, signal));
    if (settings.marketData !== null) {
      const page = await session.instruments(source, PRICED).provider.page(null, signal);
      const isins = page.decoded.rows.flatMap((row) => (row.kind === 'record' && row.isin !== null ? [row.isin] : []));
      const { maxItems } = settings.prices;
      findings.push(
        ...(await atMarketData({ settings }, (http) => probePrices(http, [...new Set(isins)], maxItems, signal))),
      );
    }
  }
  const version = 'not given by the interface';
  return [...findings, finding('version', version, `${INTERFACE_VERSION} of market data`, null)];
}

/** One request. No part of a check is shown. */
async function probeChecks(session: ProviderSession, signal: AbortSignal): Promise<Finding> {
  const [what, assumed] = ['pre-trade checks', 'links.next has an offset, and nextId too'];
  const { preTradeChecks } = session.checks();
  const probed = await probe((consume) => preTradeChecks.list(null, consume, signal));
  if (probed.kind !== 'answer') return finding(what, missing(probed), assumed, null);
  const count = rowsOf(probed.body, 'preTradeChecks')?.length ?? 0;
  const next = read(probed.body, (links) => nextCheckOffset(links, preTradeChecks.baseUrl) ?? '');
  const found = `${count} checks, ${next.value === null ? 'without' : 'with'} a usable links.next`;
  return finding(what, found, assumed, next.value !== null && newestCheckOffset(probed.body) !== null);
}

/** Market data of instruments that were just listed: 4 requests, of which 3 are left unread. */
async function probePrices(
  http: HttpClient,
  isins: readonly string[],
  maxItems: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const marketData = createMarketData({ http });
  const [isin] = isins;
  if (isin === undefined) return [finding('market data', 'no instrument with an isin', 'prices by isin', null)];
  const expected = responseType('overview');
  const single = await probe((consume) => marketData.single({ isin, query: OVERVIEW }, consume, signal));
  const type = single.kind === 'answer' ? String(single.body.get('$type')) : missing(single);
  const items = isins.slice(0, 2).map((each) => ({ isin: each, query: OVERVIEW }));
  const bulk = await probe((consume) => marketData.bulk(items, consume, signal));
  const answered = bulk.kind === 'answer' ? rowsOf(bulk.body, 'items')?.map(isinOf).join(', ') : missing(bulk);
  const asked = items.map((item) => item.isin).join(', ');
  // The listed ones over and over: only the number counts here.
  const sized = (size: number) =>
    Array.from({ length: size }, (_, at) => ({ isin: isins[at % isins.length] ?? isin, query: OVERVIEW }));
  return [
    finding('$type of an overview', type, expected, type === expected),
    finding('order of a bulk response', answered ?? 'no items', asked, answered === asked),
    await sizeFinding('bulk request', maxItems, [2 * maxItems], (size) =>
      probeStatus((consume) => marketData.bulk(sized(size), consume, signal)),
    ),
  ];
}

function isinOf(item: ReadonlyMap<string, unknown>): string {
  const identifier = item.get('responseIdentifier');
  return identifier instanceof Map ? String(identifier.get('isin')) : 'none';
}

/** The event stream from its newest offset: at most 6 requests. */
async function probeStream(
  referenceData: ReferenceData,
  maxEvents: number,
  start: string,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const events = (since: string, count: number): Promise<Probed> =>
    probe((consume) => referenceData.events({ since, maxEvents: count }, consume, signal));
  return [
    await sizeFinding('maxEvents', maxEvents, LARGER_ANSWERS, (size) =>
      probeStatus((consume) => referenceData.events({ since: start, maxEvents: size }, consume, signal)),
    ),
    upToDateFinding(referenceData.baseUrl, await events(start, maxEvents)),
    expiredFinding(await events(OLDEST_OFFSET, 1)),
    malformedFinding(await events(NO_OFFSET, 1)),
  ];
}

function upToDateFinding(baseUrl: string, probed: Probed): Finding {
  const assumed =
    'nextId is the newest offset of the log, or of the response; with the latter, one more request shows the end';
  const what = 'end of the stream';
  if (probed.kind !== 'answer') return finding(what, missing(probed), assumed, false);
  const count = rowsOf(probed.body, 'events')?.length ?? 0;
  const next = read(probed.body, (links) => nextEventOffset(links, baseUrl));
  if (next.value === null) return finding(what, next.found, assumed, false);
  const nextId = newestEventOffset(probed.body);
  const found = `${count} events, links.next ${next.value}, nextId ${nextId ?? 'of another form'}`;
  return finding(what, found, assumed, nextId !== null);
}

function expiredFinding(probed: Probed): Finding {
  const [what, assumed] = ['an expired offset gets', 'nothing, the oldest events, or a status from 400 on'];
  if (probed.kind !== 'answer') return finding(what, missing(probed), assumed, isRefusal(probed));
  const count = rowsOf(probed.body, 'events')?.length ?? 0;
  return finding(what, count === 0 ? 'no events' : 'the oldest events', assumed, true);
}

function malformedFinding(probed: Probed): Finding {
  const found = probed.kind === 'answer' ? 'a normal response' : missing(probed);
  return finding('a malformed offset gets', found, 'a status from 400 on', isRefusal(probed));
}

function isRefusal(probed: Probed): boolean {
  return probed.kind === 'refused' && probed.status < 500;
}

/** The time until the list has the state of an event; at most 11 requests, and only when an event came since `start`. */
async function probeLag(
  provider: InstrumentsProvider,
  start: string,
  handoffMarginMs: number,
  signal: AbortSignal,
): Promise<Finding> {
  const what = 'the list lags the events';
  const assumed = `at most ${handoffMarginMs} ms (handoffMargin)`;
  try {
    const outcome = await provider.after(start, signal);
    const rows = outcome.kind === 'stream' ? outcome.answer.decoded.rows : [];
    const event = rows.findLast((row) => row.kind === 'event');
    if (event === undefined) return finding(what, 'no event came while this ran', assumed, null);
    const startedMs = systemClock.monotonicMs();
    const before = event.id > 0n ? String(event.id - 1n) : null;
    for (let looks = 1; looks <= LAG_LOOKS; looks++) {
      const page = await provider.page(before, signal);
      const row = page.decoded.rows.find(({ key }) => key === event.key);
      const lagMs = Math.round(systemClock.monotonicMs() - startedMs);
      if (row?.kind === 'record' && recordDigest(row.value) === event.digest) {
        return finding(what, `by ${lagMs} ms at most, of one event`, assumed, lagMs <= handoffMarginMs + LAG_PAUSE_MS);
      }
      await systemClock.sleep(LAG_PAUSE_MS, signal);
    }
    return finding(what, 'the list had another state, or had changed again', assumed, null);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ConnectorError)) throw error;
    return finding(what, error.code, assumed, null);
  }
}

/**
 * The list: at most 7 requests, of which one has a large response that is left unread. `streamStart`: the offset of the
 * event stream now; null when the list does not name it. `ids`: of the first rows.
 *
 * @throws ConnectorError of the first request: without it nothing can be found out.
 */
async function probeList(referenceData: ReferenceData, limit: number, signal: AbortSignal) {
  const { baseUrl } = referenceData;
  const page = (minId: string | null, rows: number): Promise<Probed> =>
    probe((consume) => referenceData.instruments({ minId, limit: rows }, consume, signal));
  const wallMs = systemClock.wallMs();
  const first = await page(null, FIRST_ROWS);
  if (first.kind !== 'answer') throw first.error;
  const rows = rowsOf(first.body, 'instruments') ?? [];
  const ids = rows.flatMap((row) => digitsOf(row, 'id') ?? []);
  const start = read(first.body, (links) => eventStreamStart(links, baseUrl));
  const [row] = rows;
  const spelling = row?.has('id') ? 'lower case first' : row?.has('Id') ? 'capitalised' : 'neither id nor Id';
  const isRising = ids.every((id, at) => at === 0 || BigInt(id) > BigInt(ids[at - 1] ?? 0));
  const findings: Finding[] = [
    finding('credentials', 'accepted', 'accepted in the header of the request', true),
    ...transportFindings(first, wallMs),
    finding(
      'keys of instruments',
      row === undefined ? 'no instrument came' : spelling,
      'one spelling of all keys, capitalised or not',
      row === undefined ? null : ids.length === rows.length,
    ),
    finding('order of the list', ids.join(', ') || 'no instrument came', 'ids rise', ids.length < 2 ? null : isRising),
    finding('links.events', start.found, 'it holds an offset <digits>-<digits>', start.value !== null),
    await cursorFinding(ids, page),
    endFinding(baseUrl, await page(HIGHEST_ID, 1)),
    await sizeFinding('limit', limit, LARGER_LIMITS, (size) =>
      probeStatus((consume) => referenceData.instruments({ minId: null, limit: size }, consume, signal)),
    ),
  ];
  return { findings, streamStart: start.value, ids };
}

function transportFindings({ date, encoding, age }: Answer, wallMs: number): Finding[] {
  const skewMs = date === null ? null : date - wallMs;
  const seconds = Math.round((skewMs ?? 0) / 1_000);
  const apart = `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'}`;
  const skew = skewMs === null ? 'unknown' : `the provider is ${apart} this machine`;
  return [
    finding('Date', date === null ? 'missing' : new Date(date).toISOString(), 'each response has it', date !== null),
    finding('clocks', skew, 'within a minute', skewMs === null ? null : Math.abs(skewMs) < LARGEST_SKEW_MS),
    // The client refuses a response from a cache.
    finding('Age', age === null ? 'none' : `${age} s`, 'no response comes from a cache', true),
    finding('compression', encoding ?? 'none', 'gzip, br or none', true),
  ];
}

async function cursorFinding(ids: readonly string[], page: (minId: string, rows: number) => Promise<Probed>) {
  const assumed = 'either: a row that comes on two pages is harmless';
  const [, second, third] = ids;
  if (second === undefined || third === undefined) return finding('minId', 'too few instruments', assumed, null);
  const probed = await page(second, 1);
  if (probed.kind !== 'answer') return finding('minId', missing(probed), assumed, null);
  const came = digitsOf(rowsOf(probed.body, 'instruments')?.[0], 'id');
  if (came === second) return finding('minId', 'inclusive', assumed, true);
  return finding('minId', came === third ? 'exclusive' : `row ${came}`, assumed, came === third);
}

function endFinding(baseUrl: string, probed: Probed): Finding {
  const assumed = 'after the last row: no rows, and links.next null or empty';
  if (probed.kind !== 'answer') return finding('end of the list', missing(probed), assumed, false);
  const count = rowsOf(probed.body, 'instruments')?.length ?? 0;
  const next = read(probed.body, (links) => nextInstrumentCursor(links, baseUrl) ?? 'null');
  return finding(
    'end of the list',
    `${count} rows, links.next ${next.found}`,
    assumed,
    next.value === 'null' && count === 0,
  );
}

/** The largest size that is taken, from the largest down to the configured one; at most one request each. */
async function sizeFinding(
  what: string,
  configured: number,
  larger: readonly number[],
  ask: (size: number) => Promise<Probed>,
): Promise<Finding> {
  const refused: string[] = [];
  let taken: number | null = null;
  for (const size of [...new Set([...larger, configured])].sort((a, b) => b - a)) {
    const probed = await ask(size);
    if (probed.kind === 'answer') taken = size;
    if (taken !== null) break;
    if (probed.kind !== 'answer') refused.push(`${size}: ${missing(probed)}`);
  }
  const found = `${taken ?? 'nothing'} is accepted${refused.length === 0 ? '' : `; refused ${refused.join(', ')}`}`;
  return finding(`largest ${what}`, found, `${configured}, as in the settings`, taken !== null && taken >= configured);
}

/** The value of a response's links, or the problem with them. */
function read(body: JsonObject, take: (links: JsonObject) => string): { found: string; value: string | null } {
  const links = body.get('links');
  if (!(links instanceof Map)) return { found: 'no links', value: null };
  try {
    const value = take(links);
    return { found: value, value };
  } catch (error) {
    return { found: error instanceof Error ? error.message : 'unreadable', value: null };
  }
}

/** A response, or the status of a refusal; a refusal has no other details. */
type Probed =
  | {
      readonly kind: 'answer';
      readonly body: JsonObject;
      readonly date: number | null;
      readonly age: number | null;
      readonly encoding: string | null;
    }
  | { readonly kind: 'refused'; readonly status: number; readonly error: ConnectorError }
  | { readonly kind: 'failed'; readonly why: string; readonly error: ConnectorError };
type Answer = Extract<Probed, { readonly kind: 'answer' }>;

/** A request, which is given the function that reads its response. */
type Call = (consume: (response: HttpResponse) => Promise<Probed>) => Promise<Probed>;

/** Sends one request and reads the response. */
function probe(call: Call): Promise<Probed> {
  return outcomeOf(
    call(async ({ body, date, age, encoding }): Promise<Probed> => {
      const value = await readJson(body, Number.POSITIVE_INFINITY);
      if (!(value instanceof Map)) throw new ConnectorError('BODY_MALFORMED', 'The response is not a JSON object.');
      return { kind: 'answer', body: value, date, age, encoding };
    }),
  );
}

/** Sends one request for the status alone: the body is left unread, so that a large one costs little. */
function probeStatus(call: Call): Promise<Probed> {
  return outcomeOf(call(async ({ date, age, encoding }) => ({ kind: 'answer', body: new Map(), date, age, encoding })));
}

async function outcomeOf(asked: Promise<Probed>): Promise<Probed> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const { status } = error.fields;
    // The status of TOKEN_FAILED is that of the token endpoint.
    return typeof status === 'number' && error.code !== 'TOKEN_FAILED'
      ? { kind: 'refused', status, error }
      : { kind: 'failed', why: error.code, error };
  }
}

function missing(probed: Exclude<Probed, Answer>): string {
  return probed.kind === 'refused' ? `status ${probed.status}` : probed.why;
}

/** The elements of a list that are objects; null where there is no list. */
function rowsOf(body: JsonObject, key: string): readonly JsonObject[] | null {
  const list = body.get(key);
  if (!Array.isArray(list)) return null;
  return (list as readonly JsonValue[]).filter((row): row is JsonObject => row instanceof Map);
}

/** A number of a row as its digits; null where there is none. */
function digitsOf(row: JsonObject | undefined, name: string): string | null {
  const value = row?.get(name) ?? row?.get(`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`);
  return typeof value === 'object' && value !== null && 'text' in value ? value.text : null;
}
