import { z } from 'zod';
import { duration, flag, group, oneOf, section, setting, text, wholeNumber } from '../setting.ts';

/** The fields of each kind (part 2.1 of src/provider/README.md). */
const OVERVIEW_FIELDS = [
  'LastPrice',
  'LastOpen',
  'LastHigh',
  'LastLow',
  'LastClose',
  'DailyPerformanceBasePrice',
  'YTDPerformanceBasePrice',
  'LastAccruedInterest',
] as const;
const DAILY_FIELDS = ['Close', 'CloseAccruedInterest', 'OHLC', 'LastBidAsk', 'LastBidAskAccruedInterest'] as const;
const INTRADAY_FIELDS = ['Close', 'OHLC', 'BidAsk'] as const;

// Snapshots are kept for seven days and series for 400: a record must be refreshed before it leaves its topic.
const refreshInterval = (usual: string) =>
  setting(duration('1s', '1d'), 'The age at which it is requested again, for each instrument.', usual);
const lookBack = (usual: string) =>
  setting(duration('1m', '366d'), 'How far back each request goes; what has not changed is not written again.', usual);

/** One, or several of them as a list: each is a series of its own. */
function oneOrMore<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z
    .union([oneOf(names).transform((one) => [one]), z.array(oneOf(names))])
    .refine((all) => all.length > 0 && new Set(all).size === all.length)
    .meta({ wanted: `one or several of ${names.join(', ')}, each once` });
}

const overview = group({
  enabled: setting(flag(), 'Whether the latest prices are requested.', true),
  refreshInterval: refreshInterval('60s'),
  fields: setting(z.array(oneOf(OVERVIEW_FIELDS)).max(100), 'Only these; none: all that the provider gives.', []),
}).transform(inMilliseconds);

const daily = group({
  enabled: setting(flag(), 'Whether daily prices are requested.', false),
  refreshInterval: refreshInterval('1h'),
  fields: setting(oneOrMore(DAILY_FIELDS), `One of ${DAILY_FIELDS.join(', ')}; or a list, of series.`, 'Close'),
  lookBack: lookBack('7d'),
}).transform(seriesInMilliseconds);

const intraday = group({
  enabled: setting(flag(), 'Whether intraday prices are requested.', false),
  refreshInterval: refreshInterval('5m'),
  fields: setting(oneOrMore(INTRADAY_FIELDS), `One of ${INTRADAY_FIELDS.join(', ')}; or a list, of series.`, 'Close'),
  interval: setting(
    oneOrMore(['Minute_5', 'Hour_1']),
    'The length of a window: Minute_5, Hour_1, or a list.',
    'Minute_5',
  ),
  lookBack: lookBack('1h'),
}).transform(seriesInMilliseconds);

export const pricesSettings = group({
  enabled: setting(flag(), 'Whether prices are followed, once marketData.url is set.', true),
  from: setting(
    z.array(text('the name of a source')).max(100),
    'Sources whose instruments are priced, by name; none: the only instruments source. Several: each with its own legalCountry.',
    [],
  ),
  kinds: section(
    group({
      overview: section(overview, 'The latest price of each instrument.'),
      daily: section(daily, 'Prices by day.'),
      intraday: section(intraday, 'Prices by windows within a day.'),
    }),
    'What is requested.',
  ),
  maxItems: setting(wholeNumber(1, 10_000), 'Instruments in one bulk request; fewer once the provider refuses.', 500),
  linger: setting(
    duration('0s', '1m'),
    'How long a new or changed instrument waits for others in its request.',
    '250ms',
  ),
  concurrency: setting(wholeNumber(1, 8), 'Bulk requests in flight at a time, for each kind.', 4),
  maxBackoff: setting(
    duration('1s', '7d'),
    'The longest pause before an instrument that fails is requested again.',
    '1h',
  ),
  repaidAfter: setting(
    duration('0s', '366d'),
    'How long after its repaymentDate an instrument is requested once a day only.',
    '7d',
  ),
}).transform(({ linger, maxBackoff, repaidAfter, ...rest }) => ({
  ...rest,
  lingerMs: linger,
  maxBackoffMs: maxBackoff,
  repaidAfterMs: repaidAfter,
}));

function inMilliseconds<Given extends { readonly refreshInterval: number }>({ refreshInterval, ...rest }: Given) {
  return { ...rest, refreshIntervalMs: refreshInterval };
}

function seriesInMilliseconds<Given extends { readonly refreshInterval: number; readonly lookBack: number }>({
  lookBack: lookBackMs,
  ...rest
}: Given) {
  return { ...inMilliseconds(rest), lookBackMs };
}
