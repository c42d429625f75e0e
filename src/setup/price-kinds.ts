import type { PricesSettings } from '../config/settings.ts';
import type { TopicRole } from '../kafka/topic-plan.ts';
import type { PriceKind } from '../processor/bulk-prices.ts';
import type { AskedSettings } from '../processor/prices/price-question.ts';

/** The topic of each kind of prices. */
export const PRICE_TOPICS = {
  overview: 'prices',
  daily: 'daily-prices',
  intraday: 'intraday-prices',
} as const satisfies Readonly<Record<PriceKind, TopicRole>>;

export interface AskedKind {
  readonly kind: PriceKind;
  readonly refreshIntervalMs: number;
  readonly asked: AskedSettings;
}

/** The kinds that are asked for, the one that answers new instruments first; none when prices are not followed. */
export function askedKinds({ enabled, kinds: { overview, daily, intraday } }: PricesSettings): readonly AskedKind[] {
  const kinds = [
    { ...overview, asked: { kind: 'overview' as const, fields: overview.fields } },
    { ...daily, asked: { kind: 'daily' as const, fields: daily.fields, lookBackMs: daily.lookBackMs } },
    {
      ...intraday,
      asked: {
        kind: 'intraday' as const,
        fields: intraday.fields,
        interval: intraday.interval,
        lookBackMs: intraday.lookBackMs,
      },
    },
  ];
  return kinds
    .filter((kind) => enabled && kind.enabled)
    .map(({ refreshIntervalMs, asked }) => ({ kind: asked.kind, refreshIntervalMs, asked }));
}
