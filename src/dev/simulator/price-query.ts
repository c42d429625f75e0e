import type { Refusals } from './answer.ts';
import { Query } from './query.ts';

/** Exported for tests. */
export const INTRADAY_FIELDS = ['Close', 'OHLC', 'BidAsk'];
/** Exported for tests. */
export const DAILY_FIELDS = ['Close', 'CloseAccruedInterest', 'OHLC', 'LastBidAsk', 'LastBidAskAccruedInterest'];
/** Exported for tests. */
export const OVERVIEW_FIELDS = [
  'LastPrice',
  'LastOpen',
  'LastHigh',
  'LastLow',
  'LastClose',
  'DailyPerformanceBasePrice',
  'YTDPerformanceBasePrice',
  'LastAccruedInterest',
];

/**
 * One request for prices, by GET or in bulk (part 4.1 of src/provider/README.md: the bulk items have the parameters of
 * the GET operations).
 */
export type SimulatedPriceQuery =
  | { readonly kind: 'overview'; readonly fields: readonly string[] }
  | {
      readonly kind: 'intraday';
      readonly interval: string;
      readonly fromMs: number | null;
      readonly toMs: number | null;
      readonly fields: string;
    }
  | {
      readonly kind: 'daily';
      readonly from: string | null;
      readonly to: string | null;
      readonly fields: string;
      readonly ascending: boolean;
      readonly count: number | null;
    };

export type SimulatedPriceKind = SimulatedPriceQuery['kind'];

export function readPriceQuery(
  kind: SimulatedPriceKind,
  parameters: URLSearchParams,
): SimulatedPriceQuery | { refusals: Refusals } {
  const query = new Query(parameters);
  const read: Record<SimulatedPriceKind, () => SimulatedPriceQuery> = {
    overview: () => ({ kind: 'overview', fields: query.allOf('fields', OVERVIEW_FIELDS) }),
    intraday: () => ({
      kind: 'intraday',
      interval: query.oneOf('interval', ['Minute_5', 'Hour_1']) ?? 'Minute_5',
      fromMs: query.dateTime('dateFrom'),
      toMs: query.dateTime('dateTo'),
      fields: query.oneOf('fields', INTRADAY_FIELDS) ?? 'Close',
    }),
    daily: () => ({
      kind: 'daily',
      from: query.date('dateFrom'),
      to: query.date('dateTo'),
      fields: query.oneOf('fields', DAILY_FIELDS) ?? 'Close',
      ascending: query.boolean('orderByAscending') ?? false,
      count: asNumber(query.integer('count', 0n, 2_147_483_647n)),
    }),
  };
  const made = read[kind]();
  return query.refusals ? { refusals: query.refusals } : made;
}

const MEMBERS: Readonly<
  Record<SimulatedPriceKind, Readonly<Record<string, 'string' | 'number' | 'boolean' | 'array'>>>
> = {
  overview: { fields: 'array' },
  intraday: { interval: 'string', dateFrom: 'string', dateTo: 'string', fields: 'string' },
  daily: { dateFrom: 'string', dateTo: 'string', fields: 'string', orderByAscending: 'boolean', count: 'number' },
};
const KINDS: Readonly<Record<string, SimulatedPriceKind>> = {
  ProductPriceOverviewRequest: 'overview',
  ProductIntradayPriceRequest: 'intraday',
  ProductDailyPriceRequest: 'daily',
};

/** Reads one item of a bulk request. Names of refused members are relative to the item. */
export function readBulkItem(item: unknown): { isin: string; query: SimulatedPriceQuery } | { refusals: Refusals } {
  if (typeof item !== 'object' || item === null) return { refusals: { '': ['The item is not an object.'] } };
  const { $type, isin, ...members } = item as Record<string, unknown>;
  const kind = typeof $type === 'string' ? KINDS[$type] : undefined;
  if (kind === undefined) return { refusals: { $type: ['The $type is missing or unknown.'] } };
  if (typeof isin !== 'string') return { refusals: { isin: ['The isin must be a string.'] } };
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    const wanted = MEMBERS[kind][name];
    if (wanted === undefined) return { refusals: { [name]: ['No other properties are allowed.'] } };
    if (value === null) continue;
    const actual = Array.isArray(value) ? 'array' : typeof value;
    if (actual !== wanted) return { refusals: { [name]: [`The value must be a ${wanted}.`] } };
    for (const one of Array.isArray(value) ? value : [value]) parameters.append(name, String(one));
  }
  const query = readPriceQuery(kind, parameters);
  return 'refusals' in query ? query : { isin, query };
}

function asNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
