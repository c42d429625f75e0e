import { PRICE_KINDS } from '../../../src/config/price-kinds/all.ts';
import type { BulkResponse, PriceKind, PriceQuestion } from '../../../src/prices/bulk-prices.ts';
import { createProviderPrices, type ProviderPricesOptions } from '../../../src/prices/provider-prices.ts';
import type { PriceRequest } from '../../../src/provider/market-data.ts';
import { createRecordReader, type ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { skippingClock } from '../runner/manual-clock.ts';
import { chunked } from './avro-decoding.ts';

const PRICE_SCHEMA_IDS = { overview: 21, daily: 22, intraday: 23 } as const;
const DAY_MS = 86_400_000;
export const ASKED = plansOf({
  overview: { fields: [] },
  daily: { fields: ['Close'], lookBackMs: 7 * DAY_MS, catchUpMs: 90 * DAY_MS },
  intraday: { fields: ['BidAsk'], interval: ['Hour_1'], lookBackMs: 3_600_000, catchUpMs: DAY_MS },
});

/** One series of each kind. */
export function plansOf(settings: {
  readonly overview?: Parameters<(typeof PRICE_KINDS)['overview']['plans']>[0];
  readonly daily?: Parameters<(typeof PRICE_KINDS)['daily']['plans']>[0];
  readonly intraday?: Parameters<(typeof PRICE_KINDS)['intraday']['plans']>[0];
}): ProviderPricesOptions['kinds'] {
  const { overview, daily, intraday } = settings;
  return [
    ...(overview ? PRICE_KINDS.overview.plans(overview).map((plan) => ({ kind: 'overview' as const, ...plan })) : []),
    ...(daily ? PRICE_KINDS.daily.plans(daily).map((plan) => ({ kind: 'daily' as const, ...plan })) : []),
    ...(intraday ? PRICE_KINDS.intraday.plans(intraday).map((plan) => ({ kind: 'intraday' as const, ...plan })) : []),
  ];
}

/** The kinds of these tests are one series each. */
export function schemaIdOf(kind: PriceKind): number {
  return PRICE_SCHEMA_IDS[kind as keyof typeof PRICE_SCHEMA_IDS];
}

export const priceReader = createRecordReader({
  schemas: new Map([
    [PRICE_SCHEMA_IDS.overview, readSchemaText('PriceSnapshot')],
    [PRICE_SCHEMA_IDS.daily, readSchemaText('DailyPrice')],
    [PRICE_SCHEMA_IDS.intraday, readSchemaText('IntradayPrice')],
  ]),
});

/** The currency and the price type of the instrument in a position. */
export function termsAt(index: number) {
  const currency = ['CHF', null, 'EUR', ''][index % 4] ?? null;
  return { currency, priceType: ['percentage', 'unit', null][index % 3] ?? null };
}

/** Questions about these isins, with the ids 1, 2, 3 … */
export function questionsFor(isins: readonly string[], termsOf = (_index: number) => ({})): PriceQuestion[] {
  return isins.map((isin, index) => ({ instrumentId: String(index + 1), isin, ...termsOf(index) }));
}

export interface AskOptions extends Partial<ProviderPricesOptions> {
  readonly kind?: PriceKind;
  readonly chunkBytes?: number;
  /** The provider's clock in milliseconds since the epoch; it has none when absent. */
  readonly date?: () => number;
}

/** Bulk prices whose provider answers every call with this body; `asked` is what it was asked for last. */
export function bulkPricesFrom(body: string | Uint8Array, { chunkBytes = 1_000, date, ...options }: AskOptions = {}) {
  const asked: (readonly PriceRequest[])[] = [];
  const prices = createProviderPrices({
    marketData: {
      bulkEndpoint: '/v1/products/bulk',
      bulk(items, consume) {
        asked.push(items);
        const answer = {
          date: date?.() ?? null,
          encoding: null,
          arrived: async () => null,
          bytes: () => 0,
        };
        return consume({ ...answer, body: chunked(body, chunkBytes) });
      },
      single: () => Promise.reject(new Error('only bulk')),
    },
    kinds: ASKED,
    schemaId: async (kind) => schemaIdOf(kind),
    maxValueBytes: () => Number.POSITIVE_INFINITY,
    onMismatch: 'deadLetter',
    assumedZone: null,
    clock: skippingClock(),
    ...options,
  });
  return { prices, asked };
}

export function answersOf(
  body: string | Uint8Array,
  isins: readonly string[],
  options: AskOptions = {},
): Promise<BulkResponse> {
  const { prices } = bulkPricesFrom(body, options);
  return prices.ask(options.kind ?? 'overview', questionsFor(isins), new AbortController().signal);
}

export function bulkBody(
  items: readonly string[],
  errors = items.some((item) => item.includes('"response":null')),
): string {
  return `{"errors":${errors},"items":[${items.join(',')}]}`;
}

export function pricedItem(isin: string, members: string, type = 'ProductPriceOverviewResponse'): string {
  const rest = members === '' ? '' : `,${members}`;
  return `{"responseIdentifier":{"isin":"${isin}"},"response":{"$type":"${type}"${rest}},"errorResponse":null}`;
}

export function failedItem(isin: string, problem = 'null'): string {
  return `{"responseIdentifier":{"isin":"${isin}"},"response":null,"errorResponse":${problem}}`;
}

export function recordsOf({ answers }: BulkResponse, position = 0): readonly ReadableRecord[] {
  const answer = answers[position];
  if (answer?.kind !== 'prices') throw new Error(`Item ${position} is ${JSON.stringify(answer)}.`);
  return answer.records.map(({ value }) => priceReader.read(value));
}
