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
const FIELDS = ['Close', 'CloseAccruedInterest', 'OHLC', 'LastBidAsk', 'LastBidAskAccruedInterest'] as const;
const DAY_MS = 86_400_000;

/** A request, with the parameters of part 4.1 of src/provider/README.md; null for what is left to the provider. */
export interface DailyQuery {
  readonly kind: 'daily';
  /** Days, `YYYY-MM-DD`. */
  readonly dateFrom: string | null;
  readonly dateTo: string | null;
  readonly fields: string | null;
  readonly orderByAscending: boolean | null;
  readonly count: number | null;
}

/** What the records of a series say of the request. */
export interface AskedDaily {
  readonly kind: 'daily';
  readonly fields: string;
}

const settings = group({
  enabled: setting(flag(), 'Whether daily prices are requested.', false),
  refreshInterval: refreshInterval('1h'),
  fields: setting(oneOrMore(FIELDS), `One of ${FIELDS.join(', ')}; or a list, of series.`, 'Close'),
  lookBack: lookBack('7d'),
}).transform(seriesInMilliseconds);

/** Prices by day. */
export const DAILY = {
  topic: 'daily-prices',
  schema: 'DailyPrice',
  types: { request: 'ProductDailyPriceRequest', response: 'ProductDailyPriceResponse' },
  settings,
  plans({ fields: all, lookBackMs }: { readonly fields: readonly string[]; readonly lookBackMs: number }) {
    return all.map((fields) => {
      const between = (fromMs: number, toMs: number | null) => {
        const [dateFrom, dateTo] = [dayOf(fromMs), toMs === null ? null : dayOf(toMs - DAY_MS)];
        return { kind: 'daily', dateFrom, dateTo, fields, orderByAscending: true, count: null } as const;
      };
      return seriesPlan(fields, { kind: 'daily', fields } as const, lookBackMs, { lengthMs: DAY_MS, between });
    });
  },
} as const satisfies PriceKindDefinition<z.output<typeof settings>, DailyQuery, AskedDaily>;

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
