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
  /** When the first window opens that is asked for at a moment; null where a price has no window. */
  readonly oldestWindowMs: ((wallMs: number) => number) | null;
}

type KindSettings = PricesSettings['kinds'];

type PriceKinds = {
  readonly [Kind in PriceKind]: {
    readonly topic: TopicRole;
    readonly plan: (settings: KindSettings[Kind]) => PriceRequestPlan;
  };
};

const INTERVAL_MS: Readonly<Record<string, number>> = { Minute_5: 300_000, Hour_1: 3_600_000 };
const DAY_MS = 86_400_000;

/**
 * Each kind of prices: its topic, and what is asked for by its settings. The first that is enabled answers new
 * instruments. Windows begin `lookBackMs` before the moment of the question, the first one asked for whole.
 */
export const PRICE_KINDS = {
  overview: {
    topic: 'prices',
    plan({ fields }: { readonly fields: readonly string[] }) {
      const inRecords = { kind: 'overview' } as const;
      return { kind: 'overview', inRecords, query: () => ({ kind: 'overview', fields }), oldestWindowMs: null };
    },
  },
  daily: {
    topic: 'daily-prices',
    plan({ fields, lookBackMs }: { readonly fields: string; readonly lookBackMs: number }) {
      const oldestWindowMs = windowStart(DAY_MS, lookBackMs);
      const query = (wallMs: number) => {
        const dateFrom = new Date(oldestWindowMs(wallMs)).toISOString().slice(0, 10);
        return { kind: 'daily', dateFrom, dateTo: null, fields, orderByAscending: true, count: null } as const;
      };
      return { kind: 'daily', inRecords: { kind: 'daily', fields }, query, oldestWindowMs };
    },
  },
  intraday: {
    topic: 'intraday-prices',
    plan(settings: { readonly fields: string; readonly interval: string; readonly lookBackMs: number }) {
      const { fields, interval, lookBackMs } = settings;
      const oldestWindowMs = windowStart(INTERVAL_MS[interval] ?? DAY_MS, lookBackMs);
      const query = (wallMs: number) => {
        const dateFrom = new Date(oldestWindowMs(wallMs)).toISOString().replace('.000Z', 'Z');
        return { kind: 'intraday', interval, dateFrom, dateTo: null, fields } as const;
      };
      return { kind: 'intraday', inRecords: { kind: 'intraday', fields, interval }, query, oldestWindowMs };
    },
  },
} as const satisfies PriceKinds;

function windowStart(lengthMs: number, lookBackMs: number): (wallMs: number) => number {
  return (wallMs) => Math.floor((wallMs - lookBackMs) / lengthMs) * lengthMs;
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
  return (Object.keys(PRICE_KINDS) as PriceKind[])
    .filter((kind) => enabled && kinds[kind].enabled)
    .map((kind) => enabledKind(kind, kinds));
}

function enabledKind<Kind extends PriceKind>(kind: Kind, kinds: KindSettings): EnabledKind {
  const definitions: PriceKinds = PRICE_KINDS;
  const { topic, plan } = definitions[kind];
  return { kind, topic, refreshIntervalMs: kinds[kind].refreshIntervalMs, plan: plan(kinds[kind]) };
}
