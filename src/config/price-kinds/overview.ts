import { z } from 'zod';
import { flag, group, oneOf, setting } from '../setting.ts';
import { inMilliseconds, type PriceKindDefinition, refreshInterval } from './price-kind.ts';

/** The fields of a request (part 2.1 of src/provider/README.md). */
const FIELDS = [
  'LastPrice',
  'LastOpen',
  'LastHigh',
  'LastLow',
  'LastClose',
  'DailyPerformanceBasePrice',
  'YTDPerformanceBasePrice',
  'LastAccruedInterest',
] as const;

/** A request, with the parameters of part 4.1 of src/provider/README.md; no fields: what the provider gives. */
export interface OverviewQuery {
  readonly kind: 'overview';
  readonly fields: readonly string[];
}

const settings = group({
  enabled: setting(flag(), 'Whether the latest prices are requested.', true),
  refreshInterval: refreshInterval('60s'),
  fields: setting(z.array(oneOf(FIELDS)).max(100), `Only these of ${FIELDS.join(', ')}; none: all.`, []),
}).transform(inMilliseconds);

/** The latest price of each instrument. */
export const OVERVIEW = {
  topic: 'prices',
  schema: 'PriceSnapshot',
  types: { request: 'ProductPriceOverviewRequest', response: 'ProductPriceOverviewResponse' },
  settings,
  plans({ fields }: { readonly fields: readonly string[] }) {
    const query = () => ({ kind: 'overview', fields }) as const;
    return [{ series: null, inRecords: { kind: 'overview' }, query, windows: null }];
  },
} as const satisfies PriceKindDefinition<z.output<typeof settings>, OverviewQuery, { readonly kind: 'overview' }>;
