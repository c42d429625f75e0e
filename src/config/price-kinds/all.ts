import { z } from 'zod';
import { durationText } from '../duration.ts';
import {
  crossCheck,
  duration,
  flag,
  group,
  type InMilliseconds,
  inMilliseconds,
  listOf,
  oneOf,
  type Report,
  setting,
  type Unchecked,
} from '../setting.ts';
import { INTERVALS, PRICE_FIELDS } from './parameters.ts';

const INTRADAY_FIELDS = PRICE_FIELDS.intraday;
const INTERVAL_MS = { Minute_5: 300_000, Hour_1: 3_600_000 } as const satisfies Record<Interval, number>;
const DAILY_FIELDS = PRICE_FIELDS.daily;
const DAY_MS = 86_400_000;

/** The definition of a kind of prices. All kinds have the same rules for schedule, batches and exactness. */
interface PriceKindDefinition<Settings> {
  readonly topic: string;
  readonly schema: string;
  /** The values of $type (part 2.1 of src/provider/README.md, typed requests and typed responses). */
  readonly types: { readonly request: string; readonly response: string };
  /** The kind's group of settings, which includes `refreshInterval`. */
  readonly settings: z.ZodType<Settings>;
  readonly plans: (settings: Settings) => readonly SeriesPlan[];
}

/** How the prices of an instrument are requested: as one series, or as one price if the kind has no windows. */
export interface SeriesPlan {
  /** The middle part of record keys, between id and window: `OHLC`, `Hour_1/Close`; null if prices have no window. */
  readonly series: string | null;
  readonly inRecords: AskedPrices;
  /** The query for these windows; null for prices without windows. */
  query(windows: WindowRange | null): PriceQuery;
  readonly windows: SeriesWindows | null;
}

/** The windows that open at `fromMs` or later and before `toMs` (null: now), in milliseconds since the epoch. */
export interface WindowRange {
  readonly fromMs: number;
  readonly toMs: number | null;
}

export interface SeriesWindows {
  readonly lengthMs: number;
  /** The windows to request at the time `wallMs`, if the windows up to `answeredMs` are already answered. */
  range(wallMs: number, answeredMs: number): WindowRange;
}

/** A request covers at most twice the look-back plus this many windows. A long outage causes several requests. */
const EXTRA_WINDOWS = 36;

// The topics keep a latest price for 7 days and a series for 400 days. Prices must be written again before they expire.
const refreshInterval = (usual: string) =>
  setting(duration('1s', '1d'), 'The age at which the price of an instrument is requested again.', usual);

const lookBack = (usual: string) =>
  setting(
    duration('1m', '366d'),
    'How far before the last answer each request begins: at least refreshInterval, and at least one window.',
    usual,
  );

const catchUp = (usual: string, longest: string) =>
  setting(
    duration('1m', longest),
    'The windows of an outage up to this length are requested later. Missed windows of a longer outage are reported.',
    usual,
  );

/** One name, or a list of names. Each name is a separate series. */
function oneOrMore<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z
    .union([oneOf(names).transform((one) => [one]), z.array(oneOf(names))])
    .refine((all) => all.length > 0 && new Set(all).size === all.length)
    .meta({ wanted: `one or several of ${names.join(', ')}, each once` });
}

interface SeriesTimes {
  readonly lookBackMs: number;
  readonly catchUpMs: number;
}

const SERIES_TIMES = ['refreshInterval', 'lookBack', 'catchUp'] as const;
type SeriesSettings<Group extends z.ZodType> = InMilliseconds<z.output<Group>, (typeof SERIES_TIMES)[number]>;

/** Checks that each window is requested again after its end, and that `catchUp` covers a refresh interval. */
function checkTimes(
  { refreshInterval, lookBack, catchUp }: Unchecked<Record<'refreshInterval' | 'lookBack' | 'catchUp', number>>,
  windowMs: number,
  report: Report,
): void {
  if (typeof refreshInterval !== 'number') return;
  const leastMs = Math.max(refreshInterval, windowMs);
  const what = 'the longer of refreshInterval and a window. With less, no request follows the end of some windows';
  if (typeof lookBack === 'number' && lookBack < leastMs)
    report(['lookBack'], `is ${durationText(lookBack)}; expected at least ${durationText(leastMs)}: ${what}`);
  if (typeof catchUp === 'number' && catchUp < refreshInterval)
    report(
      ['catchUp'],
      `is ${durationText(catchUp)}; expected at least refreshInterval, ${durationText(refreshInterval)}`,
    );
}

// The windows of a request begin one look-back before the last answer. The last answer counts as at most `catchUpMs` old.
// `between` makes the query for windows that open at `fromMs` or later and before `toMs` (null: now).
function seriesPlan(
  series: string,
  inRecords: AskedPrices,
  { lookBackMs, catchUpMs }: SeriesTimes,
  lengthMs: number,
  between: (fromMs: number, toMs: number | null) => PriceQuery,
): SeriesPlan {
  const opening = (ms: number) => Math.floor(ms / lengthMs) * lengthMs;
  const mostMs = 2 * lookBackMs + EXTRA_WINDOWS * lengthMs;
  function range(wallMs: number, answeredMs: number): WindowRange {
    const fromMs = opening(Math.max(wallMs - catchUpMs, Math.min(wallMs, answeredMs)) - lookBackMs);
    const toMs = opening(fromMs + mostMs);
    return { fromMs, toMs: toMs < wallMs ? toMs : null };
  }
  function query(windows: WindowRange | null): PriceQuery {
    if (windows === null) throw new TypeError('The request of a series needs windows.');
    return between(windows.fromMs, windows.toMs);
  }
  return { series, inRecords, query, windows: { lengthMs, range } };
}

/** A request for daily prices (part 4.1 of src/provider/README.md). If a parameter is null, the provider decides. */
interface DailyQuery {
  readonly kind: 'daily';
  readonly dateFrom: string | null;
  readonly dateTo: string | null;
  readonly fields: string | null;
  readonly orderByAscending: true;
}

const dailySettings = group({
  enabled: setting(flag(), 'Request daily prices.', false),
  refreshInterval: refreshInterval('1h'),
  fields: setting(oneOrMore(DAILY_FIELDS), `One of ${DAILY_FIELDS.join(', ')}; or several in a list.`, 'Close'),
  lookBack: lookBack('7d'),
  catchUp: catchUp('90d', '366d'),
});

/** Prices by day. Exported for tests. */
export const DAILY = {
  topic: 'daily-prices',
  schema: 'DailyPrice',
  types: { request: 'ProductDailyPriceRequest', response: 'ProductDailyPriceResponse' },
  settings: crossCheck(dailySettings, (times, report) => checkTimes(times, DAY_MS, report), SERIES_TIMES).transform(
    inMilliseconds(...SERIES_TIMES),
  ),
  plans({ fields: all, ...times }: SeriesTimes & { readonly fields: readonly string[] }) {
    return all.map((fields) => {
      const between = (fromMs: number, toMs: number | null) => {
        const [dateFrom, dateTo] = [dayOf(fromMs), toMs === null ? null : dayOf(toMs - DAY_MS)];
        return { kind: 'daily', dateFrom, dateTo, fields, orderByAscending: true } as const;
      };
      return seriesPlan(fields, { kind: 'daily', fields }, times, DAY_MS, between);
    });
  },
} as const satisfies PriceKindDefinition<SeriesSettings<typeof dailySettings>>;

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

type Interval = (typeof INTERVALS)[number];

interface IntradayQuery {
  readonly kind: 'intraday';
  readonly interval: string | null;
  /** Instants in ISO 8601 with a zone. */
  readonly dateFrom: string | null;
  readonly dateTo: string | null;
  readonly fields: string | null;
}

const intradaySettings = group({
  enabled: setting(flag(), 'Request intraday prices.', false),
  refreshInterval: refreshInterval('5m'),
  fields: setting(oneOrMore(INTRADAY_FIELDS), `One of ${INTRADAY_FIELDS.join(', ')}; or several in a list.`, 'Close'),
  interval: setting(oneOrMore(INTERVALS), 'The length of a window: Minute_5, Hour_1, or a list.', 'Minute_5'),
  lookBack: lookBack('1h'),
  catchUp: catchUp('1d', '7d'),
});

/** Prices by windows within a day. Exported for tests. */
export const INTRADAY = {
  topic: 'intraday-prices',
  schema: 'IntradayPrice',
  types: { request: 'ProductIntradayPriceRequest', response: 'ProductIntradayPriceResponse' },
  settings: crossCheck(
    intradaySettings,
    (given, report) => checkTimes(given, longestWindowMs(given.interval), report),
    SERIES_TIMES,
  ).transform(inMilliseconds(...SERIES_TIMES)),
  plans({ fields: all, interval: intervals, ...times }: IntradaySeries) {
    const each = intervals.flatMap((interval) => all.map((fields) => ({ interval, fields })));
    return each.map(({ interval, fields }) => {
      const between = (fromMs: number, toMs: number | null) => {
        const [dateFrom, dateTo] = [instantOf(fromMs), toMs === null ? null : instantOf(toMs)];
        return { kind: 'intraday', interval, dateFrom, dateTo, fields } as const;
      };
      const inRecords = { kind: 'intraday', fields, interval } as const;
      return seriesPlan(`${interval}/${fields}`, inRecords, times, INTERVAL_MS[interval], between);
    });
  },
} as const satisfies PriceKindDefinition<SeriesSettings<typeof intradaySettings>>;

interface IntradaySeries extends SeriesTimes {
  readonly fields: readonly string[];
  readonly interval: readonly Interval[];
}

function longestWindowMs(intervals: unknown): number {
  const given: readonly unknown[] = Array.isArray(intervals) ? intervals : [];
  return Math.max(...INTERVALS.filter((one) => given.includes(one)).map((one) => INTERVAL_MS[one]));
}

export function instantOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** A request for an overview (part 4.1 of src/provider/README.md). Without fields, the provider sends default fields. */
interface OverviewQuery {
  readonly kind: 'overview';
  readonly fields: readonly string[];
}

const overviewSettings = group({
  enabled: setting(flag(), 'Request the latest prices.', true),
  refreshInterval: refreshInterval('60s'),
  fields: setting(
    listOf(oneOf(PRICE_FIELDS.overview)),
    `Some of ${PRICE_FIELDS.overview.join(', ')}; empty: the provider's default fields.`,
    [],
  ),
}).transform(inMilliseconds('refreshInterval'));

const OVERVIEW = {
  topic: 'prices',
  schema: 'PriceSnapshot',
  types: { request: 'ProductPriceOverviewRequest', response: 'ProductPriceOverviewResponse' },
  settings: overviewSettings,
  plans({ fields }: { readonly fields: readonly string[] }) {
    const query = () => ({ kind: 'overview', fields }) as const;
    return [{ series: null, inRecords: { kind: 'overview' }, query, windows: null }];
  },
} as const satisfies PriceKindDefinition<z.output<typeof overviewSettings>>;

/** The kinds of prices of the provider's interface. The first enabled kind answers the instrument records. */
export const PRICE_KINDS = { overview: OVERVIEW, daily: DAILY, intraday: INTRADAY } as const;

export type PriceQuery = OverviewQuery | DailyQuery | IntradayQuery;

/** The parameters of a request. Each price record contains the parameters of its request. */
export type AskedPrices =
  | { readonly kind: 'overview' }
  | { readonly kind: 'daily'; readonly fields: string }
  | { readonly kind: 'intraday'; readonly fields: string; readonly interval: string };
