import type { PricesSettings } from '../../config/settings.ts';
import type { AskedPrices } from '../../decoding/priced.ts';
import type { TopicRole } from '../../kafka/topic-plan.ts';
import type { PriceQuery } from '../../provider/price-query.ts';
import type { PriceKind } from '../bulk-prices.ts';

/** What is asked for of each instrument, by the settings of a kind. */
export interface PriceRequestPlan {
  readonly kind: PriceKind;
  /** What the records say of the question. */
  readonly inRecords: AskedPrices;
  /** The question at a moment. */
  query(wallMs: number): PriceQuery;
  /** The middle of the keys of its records, between id and window: `OHLC`, `Hour_1/Close`; null where a price has no window. */
  readonly series: string | null;
  /** When the first window opens that is asked for at a moment; null where a price has no window. */
  readonly oldestWindowMs: ((wallMs: number) => number) | null;
}

type KindSettings = PricesSettings['kinds'];
/** A plan before its kind has its name: without one, it is the only one. */
type UnnamedPlan = Omit<PriceRequestPlan, 'kind'> & { readonly series: string | null };

type PriceKinds = {
  readonly [Kind in PriceQuery['kind']]: {
    readonly topic: TopicRole;
    readonly plans: (settings: KindSettings[Kind]) => readonly UnnamedPlan[];
  };
};

const INTERVAL_MS: Readonly<Record<string, number>> = { Minute_5: 300_000, Hour_1: 3_600_000 };
const DAY_MS = 86_400_000;

/**
 * The prices of the interface: their topic, and what is asked for by their settings, in one plan for each series. The first
 * that is enabled answers new instruments. Windows begin `lookBackMs` before the moment of the question, the first one asked for whole.
 */
export const PRICE_KINDS = {
  overview: {
    topic: 'prices',
    plans({ fields }: { readonly fields: readonly string[] }) {
      const inRecords = { kind: 'overview' } as const;
      return [{ series: null, inRecords, query: () => ({ kind: 'overview', fields }), oldestWindowMs: null }];
    },
  },
  daily: {
    topic: 'daily-prices',
    plans({ fields: all, lookBackMs }: { readonly fields: readonly string[]; readonly lookBackMs: number }) {
      const oldestWindowMs = windowStart(DAY_MS, lookBackMs);
      return all.map((fields) => {
        const query = (wallMs: number) => {
          const dateFrom = new Date(oldestWindowMs(wallMs)).toISOString().slice(0, 10);
          return { kind: 'daily', dateFrom, dateTo: null, fields, orderByAscending: true, count: null } as const;
        };
        return { series: fields, inRecords: { kind: 'daily', fields }, query, oldestWindowMs };
      });
    },
  },
  intraday: {
    topic: 'intraday-prices',
    plans(settings: {
      readonly fields: readonly string[];
      readonly interval: readonly string[];
      readonly lookBackMs: number;
    }) {
      const { fields: all, interval: intervals, lookBackMs } = settings;
      const each = intervals.flatMap((interval) => all.map((fields) => ({ interval, fields })));
      return each.map(({ interval, fields }) => {
        const oldestWindowMs = windowStart(INTERVAL_MS[interval] ?? DAY_MS, lookBackMs);
        const query = (wallMs: number) => {
          const dateFrom = new Date(oldestWindowMs(wallMs)).toISOString().replace('.000Z', 'Z');
          return { kind: 'intraday', interval, dateFrom, dateTo: null, fields } as const;
        };
        const inRecords = { kind: 'intraday', fields, interval } as const;
        return { series: `${interval}/${fields}`, inRecords, query, oldestWindowMs };
      });
    },
  },
} as const satisfies PriceKinds;

function windowStart(lengthMs: number, lookBackMs: number): (wallMs: number) => number {
  return (wallMs) => Math.floor((wallMs - lookBackMs) / lengthMs) * lengthMs;
}

/** The topics of the kinds that are asked for, each once. */
export function pricedTopics(prices: PricesSettings): readonly TopicRole[] {
  return [...new Set(enabledKinds(prices).map(({ topic }) => topic))];
}

/** A kind that is asked for. */
export interface EnabledKind {
  readonly kind: PriceKind;
  readonly topic: TopicRole;
  readonly refreshIntervalMs: number;
  readonly plan: PriceRequestPlan;
}

/** The kinds that are asked for, the one that answers new instruments first; none when prices are not followed. */
export function enabledKinds({ enabled, kinds }: PricesSettings): readonly EnabledKind[] {
  return (Object.keys(PRICE_KINDS) as PriceQuery['kind'][])
    .filter((kind) => enabled && kinds[kind].enabled)
    .flatMap((kind) => enabledSeries(kind, kinds));
}

function enabledSeries<Kind extends PriceQuery['kind']>(base: Kind, kinds: KindSettings): readonly EnabledKind[] {
  const definitions: PriceKinds = PRICE_KINDS;
  const { topic, plans } = definitions[base];
  const { refreshIntervalMs } = kinds[base];
  const all = plans(kinds[base]);
  return all.map((plan) => {
    const kind = all.length === 1 ? base : (`${base}/${plan.series}` as PriceKind);
    return { kind, topic, refreshIntervalMs, plan: { kind, ...plan } };
  });
}
