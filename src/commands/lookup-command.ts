import { instantOf, type PriceQuery } from '../config/price-kinds/all.ts';
import { PRICE_FIELDS } from '../config/price-kinds/parameters.ts';
import { ConnectorError } from '../errors.ts';
import { nullWhenUnknown } from '../provider/http/response-error.ts';
import { createMarketData, isResponseType, responseType } from '../provider/market-data.ts';
import { createPreTradeChecks } from '../provider/pre-trade-checks.ts';
import { epochDays } from '../records/avro/instant.ts';
import { createCheckDecoder } from '../records/decoding/check-decoder.ts';
import { readJson } from '../records/json/json-scanner.ts';
import { isArray, type JsonObject, type JsonValue, toJsonText } from '../records/json/json-value.ts';
import { requestCheck } from '../sources/kinds/pre-trade-checks.ts';
import { systemClock } from '../support/clock.ts';
import { loadWithoutKafka } from './command-settings.ts';
import { atMarketData, atProvider, sessionReader, unregistered } from './provider-session.ts';
import { instantMs } from './shell/option-values.ts';
import { print, printable, textTable, writtenJson } from './shell/output.ts';
import { fieldsText, withoutUrl } from './shell/record-text.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

const TRY_URL = 'is wrong (check this setting with spconnect validate --connect)';

export async function lookupCheck(
  context: CommandContext,
  { showUrl }: { readonly showUrl: boolean },
  id: string,
): Promise<void> {
  const settings = await loadWithoutKafka(context);
  const { signal } = context;
  const found = await atProvider({ settings, signal }, ({ http }) => {
    const checks = createPreTradeChecks({ http, baseUrl: settings.referenceData.url });
    const mapping = { onMismatch: 'deadLetter', clock: systemClock } as const;
    return requestCheck(checks, createCheckDecoder({ ...unregistered('PreTradeCheck'), ...mapping }), id, signal);
  });
  if (found === null) return unknown(context, `pre-trade check with this id, or referenceData.url ${TRY_URL}`);
  const check = sessionReader('PreTradeCheck').read(found);
  const shown = showUrl ? check : withoutUrl(check);
  print(context, shown, fieldsText(shown));
}

function unknown({ stderr, exitWith }: CommandContext, what: string): void {
  stderr.write(`The provider answered with 404: it has no ${what}.\n`);
  exitWith(EXIT_CODES.failed);
}

interface PriceOptions {
  readonly kind: PriceQuery['kind'];
  readonly fields?: string;
  readonly from?: string;
  readonly to?: string;
  readonly interval?: string;
}

const SPAN = { from: true, to: true, interval: true };
const REFUSED = { overview: SPAN, daily: { interval: true }, intraday: {} };

export async function lookupPrice(context: CommandContext, options: PriceOptions, isin: string): Promise<void> {
  const { env, stdout, signal, output } = context;
  const query = queryOf(options, context.refuse);
  const usual = { ...env, REFERENCE_DATA_URL: env.REFERENCE_DATA_URL || 'https://localhost' };
  const settings = await loadWithoutKafka({ ...context, env: usual });
  const response = await atMarketData({ settings }, (http) => {
    const consume = ({ body }: { readonly body: AsyncIterable<Uint8Array> }) =>
      readJson(body, Number.POSITIVE_INFINITY);
    return nullWhenUnknown(
      createMarketData({ http })
        .single({ isin, query }, consume, signal)
        .then((found) => ({ found })),
    );
  });
  if (response === null) return unknown(context, `product with this isin, or marketData.url ${TRY_URL}`);
  const { found } = response;
  if (!(found instanceof Map && isResponseType(found.get('$type'), query.kind))) {
    const text = `Expected a response of $type ${responseType(query.kind)}, but its $type is missing or different.`;
    throw new ConnectorError('BODY_MALFORMED', text);
  }
  const prices = found.get('prices');
  // One line for each price of an overview or each window of a series, without nulls.
  const isSeries = prices !== undefined && isArray(prices);
  const isEmpty = isSeries && prices.length === 0;
  const table = isEmpty ? '' : textTable(isSeries ? seriesRows(prices) : overviewRows(found));
  stdout.write(output === 'json' ? writtenJson(toJsonText(found, 2)) : table);
  if (isEmpty) context.stderr.write('The provider has no prices of this product in this range.\n');
}

function queryOf(options: PriceOptions, refuse: CommandContext['refuse']): PriceQuery {
  const { kind, fields = null, from: dateFrom = null, to: dateTo = null, interval = null } = options;
  const refused = Object.keys(REFUSED[kind]).find((name) => name in options);
  if (refused !== undefined) refuse(`--${refused} cannot be used with --kind ${kind}.`);
  const asked = kind === 'overview' ? (fields?.split(',') ?? []) : [fields ?? []].flat();
  const known: readonly string[] = PRICE_FIELDS[kind];
  const unknown = asked.find((name) => !known.includes(name));
  const some = kind === 'overview' ? 'some of' : 'one of';
  if (unknown !== undefined) refuse(`--fields ${printable(unknown)}: expected ${some} ${known.join(', ')}.`);
  if (kind === 'overview') return { kind, fields: asked };
  const [begin = 0, end = Number.POSITIVE_INFINITY] = [dateFrom, dateTo].map((when) => {
    if (when === null) return undefined;
    const time = kind === 'daily' ? epochDays(when) : instantMs(when);
    if (time !== null) return time;
    return refuse(
      kind === 'daily'
        ? '--from and --to must be days, like 2026-01-31.'
        : '--from and --to must be instants, like 2026-01-31T09:00:00Z.',
    );
  });
  if (begin > end) refuse('--from must not be after --to.');
  if (kind === 'intraday') {
    const sent = (when: string | null) => (when === null ? null : instantOf(instantMs(when) ?? 0));
    return { kind, interval, dateFrom: sent(dateFrom), dateTo: sent(dateTo), fields };
  }
  return { kind, dateFrom, dateTo, fields, orderByAscending: true };
}

function overviewRows(response: JsonObject, parent = ''): string[][] {
  return [...response].flatMap(([name, value]) => {
    if (value instanceof Map) return overviewRows(value as JsonObject, `${parent}${name}.`);
    return value === null || name === '$type' ? [] : [[`${parent}${name}`, cell(value)]];
  });
}

function seriesRows(prices: readonly JsonValue[]): string[][] {
  const windows = prices.filter((price): price is JsonObject => price instanceof Map);
  const names = new Set(
    windows.flatMap((window) => [...window].flatMap(([name, value]) => (value === null ? [] : [name]))),
  );
  return [[...names], ...windows.map((window) => [...names].map((name) => cell(window.get(name))))];
}

function cell(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : toJsonText(value);
}
