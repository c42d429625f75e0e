import type { z } from 'zod';
import { flag, group, setting } from '../setting.ts';
import {
  lookBack,
  oneOrMore,
  type PriceKindDefinition,
  refreshInterval,
  seriesInMilliseconds,
  seriesPlan,
} from './price-kind.ts';

/** The fields of a request (part 2.1 of src/provider/README.md). */
const FIELDS = ['Close', 'OHLC', 'BidAsk'] as const;
const INTERVAL_MS = { Minute_5: 300_000, Hour_1: 3_600_000 } as const;
const INTERVALS = ['Minute_5', 'Hour_1'] as const satisfies readonly (keyof typeof INTERVAL_MS)[];

/** A request, with the parameters of part 4.1 of src/provider/README.md; null for what is left to the provider. */
export interface IntradayQuery {
  readonly kind: 'intraday';
  readonly interval: string | null;
  /** Instants, ISO 8601 with their zone. */
  readonly dateFrom: string | null;
  readonly dateTo: string | null;
  readonly fields: string | null;
}

/** What the records of a series say of the request. */
export interface AskedIntraday {
  readonly kind: 'intraday';
  readonly fields: string;
  readonly interval: string;
}

const settings = group({
  enabled: setting(flag(), 'Whether intraday prices are requested.', false),
  refreshInterval: refreshInterval('5m'),
  fields: setting(oneOrMore(FIELDS), `One of ${FIELDS.join(', ')}; or a list, of series.`, 'Close'),
  interval: setting(oneOrMore(INTERVALS), 'The length of a window: Minute_5, Hour_1, or a list.', 'Minute_5'),
  lookBack: lookBack('1h'),
}).transform(seriesInMilliseconds);

/** Prices by windows within a day. */
export const INTRADAY = {
  topic: 'intraday-prices',
  schema: 'IntradayPrice',
  types: { request: 'ProductIntradayPriceRequest', response: 'ProductIntradayPriceResponse' },
  settings,
  plans({ fields: all, interval: intervals, lookBackMs }: IntradaySeries) {
    const each = intervals.flatMap((interval) => all.map((fields) => ({ interval, fields })));
    return each.map(({ interval, fields }) => {
      const between = (fromMs: number, toMs: number | null) => {
        const [dateFrom, dateTo] = [instantOf(fromMs), toMs === null ? null : instantOf(toMs)];
        return { kind: 'intraday', interval, dateFrom, dateTo, fields } as const;
      };
      const inRecords = { kind: 'intraday', fields, interval } as const;
      return seriesPlan(`${interval}/${fields}`, inRecords, lookBackMs, { lengthMs: INTERVAL_MS[interval], between });
    });
  },
} as const satisfies PriceKindDefinition<z.output<typeof settings>, IntradayQuery, AskedIntraday>;

interface IntradaySeries {
  readonly fields: readonly string[];
  readonly interval: readonly (keyof typeof INTERVAL_MS)[];
  readonly lookBackMs: number;
}

function instantOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
