import { counted } from '../admin/texts.ts';
import type { PriceQuery } from '../config/price-kinds/all.ts';
import type { Settings } from '../config/settings.ts';
import { ConnectorError, type ErrorCode } from '../errors.ts';
import type { HttpClient } from '../provider/http/client.ts';
import type { HttpResponse } from '../provider/http/http-response.ts';
import { createMarketData, responseType } from '../provider/market-data.ts';
import { eventStreamStart, newestEventOffset, nextEventOffset, nextInstrumentCursor } from '../provider/page-link.ts';
import { createPreTradeChecks, newestCheckOffset, nextCheckOffset } from '../provider/pre-trade-checks.ts';
import type { ReferenceData } from '../provider/reference-data.ts';
import { readJson } from '../records/json/json-scanner.ts';
import type { JsonObject, JsonValue } from '../records/json/json-value.ts';
import { refusesOffset } from '../sources/stream/retention-gap.ts';
import { systemClock } from '../support/clock.ts';
import { loadWithoutKafka } from './command-settings.ts';
import { atMarketData, atProvider, type ProviderSession } from './provider-session.ts';
import { print, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

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
  readonly state: 'ok' | 'differs' | 'unknown';
}

/** `isAsAssumed`: true if the connector assumes the found behaviour; null if the response did not show the behaviour. */
type Verdict = readonly [found: string, isAsAssumed: boolean | null];

function finding(what: string, assumed: string, [found, isAsAssumed]: Verdict): Finding {
  return { what, found, assumed, state: isAsAssumed === null ? 'unknown' : isAsAssumed ? 'ok' : 'differs' };
}

/**
 * Judges a response. `unanswered` judges a failed request by its HTTP status; null: no response, or no token. After a
 * failure that may pass, false becomes null: the provider then perhaps behaves as assumed.
 * @throws the error of the request if `unanswered` returns undefined.
 */
async function probe<Answer>(
  asked: Promise<Answer>,
  judge: (answer: Answer) => Verdict,
  unanswered: (status: number | null, code: ErrorCode) => boolean | null | undefined = () => false,
): Promise<Verdict> {
  try {
    return judge(await asked);
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const { status } = error.fields;
    // The status of TOKEN_FAILED comes from the token endpoint, not from the probed endpoint.
    const answered = typeof status === 'number' && error.code !== 'TOKEN_FAILED' ? status : null;
    const isAsAssumed = unanswered(answered, error.code);
    if (isAsAssumed === undefined) throw error;
    const verdict = isAsAssumed === false && PASSING.includes(error.code) ? null : isAsAssumed;
    return [answered === null ? error.code : `status ${status}`, verdict];
  }
}

/** Without any response, nothing is known of the provider, and its address may be wrong. */
const mustAnswer = (_: number | null, code: ErrorCode) => (NO_RESPONSE.includes(code) ? undefined : false);
const NO_RESPONSE: readonly ErrorCode[] = ['PROVIDER_UNREACHABLE', 'TOKEN_FAILED'];
const PASSING: readonly ErrorCode[] = [...NO_RESPONSE, 'PROVIDER_TIMEOUT', 'PROVIDER_BUSY', 'BODY_INCOMPLETE'];
/** Status 404 to a price request means an unknown product. Status 404 to a bulk request means a wrong address. */
const mayBeUnknown = (status: number | null, code: ErrorCode) => (status === 404 ? null : mustAnswer(status, code));
const mustExist = (status: number | null, code: ErrorCode) => (status === 404 ? undefined : mustAnswer(status, code));
const refuses = (status: number | null) => status !== null && refusesOffset(status);

const REFUSAL = 'a status from 400 to 499, but not 401, 403, 408, 425 or 429';

const OVERVIEW: PriceQuery = { kind: 'overview', fields: ['LastPrice'] };
const PRICED = 20;
const FIRST_ROWS = 3;
const HIGHEST_ID = '9223372036854775807';
const OLDEST_OFFSET = '0-0';
const NO_OFFSET = 'no-offset';
/** Page sizes that are tried before the configured size, because the interface documents no limit. */
const LARGER_LIMITS = [10_000, 2_000];
const LARGER_ANSWERS = [10_000, 1_000];
const LARGEST_SKEW_MS = 60_000;

/** Sends fewer than 30 requests. @throws SETTINGS_INVALID without a suitable source, or the error of the first page. */
async function examine(session: ProviderSession, settings: Settings, signal: AbortSignal): Promise<readonly Finding[]> {
  const list = settings.sources.find((one) => one.type === 'instruments');
  const source = list ?? settings.sources.find((one) => 'scope' in one);
  if (source === undefined) {
    throw new ConnectorError('SETTINGS_INVALID', 'No source of the settings reads instruments or events.');
  }
  const { referenceData } = session.instruments(source, 1);
  const { streamStart, ids, ...probed } = await probeList(referenceData, list?.limit ?? null, signal);
  const findings = [...probed.findings];
  if (streamStart !== null) {
    findings.push(...(await probeStream(referenceData, source.maxEvents, streamStart, signal)));
  }
  if (ids.length === 0) return findings;
  findings.push(await probeChecks(session.http, referenceData.baseUrl, signal));
  if (settings.marketData === null) return findings;
  const page = await session.instruments(source, PRICED).provider.page(null, signal);
  const isins = page.decoded.rows.flatMap((row) => (row.kind === 'record' && row.isin !== null ? [row.isin] : []));
  const { maxItems } = settings.prices;
  const ofPrices = await atMarketData({ settings }, (http) => probePrices(http, [...new Set(isins)], maxItems, signal));
  return [...findings, ...ofPrices];
}

/** Sends at most 7 requests. `limit`: null if no source reads the list. `streamStart`: the newest offset of the stream, or null; `ids`: ids of the first rows. */
async function probeList(referenceData: ReferenceData, limit: number | null, signal: AbortSignal) {
  const { baseUrl } = referenceData;
  const page = (minId: string | null, rows: number) =>
    referenceData.instruments({ minId, limit: rows }, wholeOf, signal);
  const wallMs = systemClock.wallMs();
  const { body, date } = await page(null, FIRST_ROWS);
  const rows = rowsOf(body, 'instruments');
  const ids = rows.flatMap((row) => digitsOf(row, 'id') ?? []);
  const start = read(body, (links) => eventStreamStart(links, baseUrl));
  const [row] = rows;
  const spelling = row?.has('id') ? 'lower case first' : row?.has('Id') ? 'capitalised' : 'neither id nor Id';
  const isRising = ids.every((id, at) => at === 0 || BigInt(id) > BigInt(ids[at - 1] ?? 0));
  const seconds = Math.round(((date ?? wallMs) - wallMs) / 1_000);
  const apart = `the provider is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} this machine`;
  const [, second, third] = ids;
  const cursor = ({ body: next }: Whole): Verdict => {
    const came = digitsOf(rowsOf(next, 'instruments')[0], 'id');
    if (came === second) return ['inclusive', true];
    return [came === third ? 'exclusive' : `row ${came}`, came === third];
  };
  const end = ({ body: last }: Whole): Verdict => {
    const count = rowsOf(last, 'instruments').length;
    const next = read(last, (links) => nextInstrumentCursor(links, baseUrl) ?? 'null');
    return [`${counted(count, 'row')}, links.next ${next.found}`, next.value === 'null' && count === 0];
  };
  const findings = [
    finding('Date', 'each response has it', date === null ? ['missing', false] : [new Date(date).toISOString(), true]),
    finding(
      'clocks',
      'within a minute',
      date === null ? ['unknown', null] : [apart, Math.abs(date - wallMs) < LARGEST_SKEW_MS],
    ),
    finding(
      'keys of instruments',
      'one spelling of all keys, capitalised or not',
      row === undefined ? ['the page has no instruments', null] : [spelling, ids.length === rows.length],
    ),
    finding('order of the list', 'ids rise', [
      ids.join(', ') || 'the page has no instruments',
      ids.length < 2 ? null : isRising,
    ]),
    finding('links.events', 'has an offset <digits>-<digits>', [start.found, start.value !== null]),
    finding(
      'minId',
      'inclusive or exclusive: a row on two pages is harmless',
      second === undefined || third === undefined
        ? ['too few instruments', null]
        : await probe(page(second, 1), cursor, () => null),
    ),
    finding(
      'end of the list',
      'after the last row: no rows, and links.next null or empty',
      await probe(page(HIGHEST_ID, 1), end),
    ),
  ];
  const ask = (size: number) => referenceData.instruments({ minId: null, limit: size }, unread, signal);
  if (limit !== null) findings.push(await sizeFinding('limit', limit, LARGER_LIMITS, ask));
  return { findings, streamStart: start.value, ids };
}

/** Probes the event stream from its newest offset, with at most 6 requests. */
async function probeStream(
  { baseUrl, events }: ReferenceData,
  maxEvents: number,
  start: string,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const after = (since: string, count: number) => events({ since, maxEvents: count }, wholeOf, signal);
  const end = ({ body }: Whole): Verdict => {
    const next = read(body, (links) => nextEventOffset(links, baseUrl));
    if (next.value === null) return [next.found, false];
    const nextId = newestEventOffset(body);
    const count = rowsOf(body, 'events').length;
    return [
      `${counted(count, 'event')}, links.next ${next.value}, nextId ${nextId ?? 'of another form'}`,
      nextId !== null,
    ];
  };
  // A response with the oldest events proves nothing: the provider perhaps has not deleted any event yet.
  const expired = ({ body }: Whole): Verdict =>
    rowsOf(body, 'events').length === 0
      ? ['no events', true]
      : ['not known: the oldest events came; perhaps no offset has expired at this provider yet', null];
  return [
    await sizeFinding('maxEvents', maxEvents, LARGER_ANSWERS, (size) =>
      events({ since: start, maxEvents: size }, unread, signal),
    ),
    finding(
      'end of the stream',
      'nextId is the newest offset of the log, or of the response (then one more request shows the end)',
      await probe(after(start, maxEvents), end),
    ),
    finding(
      'an expired offset gets',
      `no events, the oldest events, or ${REFUSAL}`,
      await probe(after(OLDEST_OFFSET, 1), expired, refuses),
    ),
    finding(
      'a malformed offset gets',
      REFUSAL,
      await probe(after(NO_OFFSET, 1), () => ['a normal response', false], refuses),
    ),
  ];
}

/** Sends one request. The finding has no part of a pre-trade check, because anyone with the URL of a check can trade. */
async function probeChecks(http: HttpClient, baseUrl: string, signal: AbortSignal): Promise<Finding> {
  const preTradeChecks = createPreTradeChecks({ http, baseUrl });
  const judge = ({ body }: Whole): Verdict => {
    const next = read(body, (links) => nextCheckOffset(links, baseUrl) ?? '');
    const found = `${counted(rowsOf(body, 'preTradeChecks').length, 'check')}, ${next.value === null ? 'without' : 'with'} a usable links.next`;
    return [found, next.value !== null && newestCheckOffset(body) !== null];
  };
  const verdict = await probe(preTradeChecks.list(null, wholeOf, signal), judge, () => null);
  return finding('pre-trade checks', 'links.next and nextId have an offset', verdict);
}

/** Probes the prices of listed instruments with at most 4 requests, and reads 2 responses. */
async function probePrices(
  http: HttpClient,
  isins: readonly string[],
  maxItems: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const marketData = createMarketData({ http });
  const [isin] = isins;
  if (isin === undefined) return [finding('market data', 'prices by isin', ['no instrument with an isin', null])];
  const expected = responseType('overview');
  // Repeats the listed isins, because only the number of items matters.
  const items = (size: number) =>
    Array.from({ length: size }, (_, at) => ({ isin: isins[at % isins.length] ?? isin, query: OVERVIEW }));
  const two = items(Math.min(2, isins.length));
  const asked = two.map((item) => item.isin).join(', ');
  const type = ({ body }: Whole): Verdict => [String(body.get('$type')), body.get('$type') === expected];
  const order = ({ body }: Whole): Verdict => {
    const answered = rowsOf(body, 'items').map(isinOf).join(', ');
    return [answered || 'no items', answered === asked];
  };
  const single = marketData.single({ isin, query: OVERVIEW }, wholeOf, signal);
  return [
    finding('$type of an overview', expected, await probe(single, type, mayBeUnknown)),
    finding('order of a bulk response', asked, await probe(marketData.bulk(two, wholeOf, signal), order, mustExist)),
    await sizeFinding('bulk request', maxItems, [2 * maxItems], (size) => marketData.bulk(items(size), unread, signal)),
  ];
}

function isinOf(item: JsonObject): string {
  const identifier = item.get('responseIdentifier');
  return identifier instanceof Map ? String(identifier.get('isin')) : 'none';
}

/** Finds the largest accepted size: tries each size once, from the largest down to the configured size. */
async function sizeFinding(
  what: string,
  configured: number,
  larger: readonly number[],
  ask: (size: number) => Promise<unknown>,
): Promise<Finding> {
  const failed: string[] = [];
  let taken: number | null = null;
  let verdict: boolean | null = false;
  for (const size of [...new Set([...larger, configured])].sort((a, b) => b - a)) {
    const [found, isTaken] = await probe(ask(size), () => ['', true]);
    verdict = isTaken;
    if (isTaken) taken = size;
    if (taken !== null) break;
    failed.push(`${size} (${found})`);
  }
  const accepted = taken === null ? [] : [`${taken} is accepted`];
  const found = [...accepted, ...(failed.length === 0 ? [] : [`not accepted: ${failed.join(', ')}`])].join('; ');
  return finding(`largest ${what}`, `${configured}, as in the settings`, [
    found,
    taken === null ? verdict : taken >= configured,
  ]);
}

type Whole = Awaited<ReturnType<typeof wholeOf>>;

async function wholeOf({ body: chunks, date }: HttpResponse) {
  const body = await readJson(chunks, Number.POSITIVE_INFINITY);
  if (!(body instanceof Map)) throw new ConnectorError('BODY_MALFORMED', 'The response is not a JSON object.');
  return { body: body as JsonObject, date };
}

/** Leaves the body unread: only the status matters, and a large body is costly. */
async function unread(): Promise<void> {}

/** A value from the links of a response, or the problem with the links. */
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

function rowsOf(body: JsonObject, key: string): readonly JsonObject[] {
  const list = body.get(key);
  return Array.isArray(list) ? list.filter((row: JsonValue): row is JsonObject => row instanceof Map) : [];
}

/** The digits of a number in a row; null if the row has no such number. */
function digitsOf(row: JsonObject | undefined, name: string): string | null {
  const value = row?.get(name) ?? row?.get(`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`);
  return typeof value === 'object' && value !== null && 'text' in value ? value.text : null;
}
