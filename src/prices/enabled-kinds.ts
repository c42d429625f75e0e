import type { TopicRole } from '../config/groups/topics.ts';
import { PRICE_KINDS, type PriceQuery, type SeriesPlan } from '../config/price-kinds/all.ts';
import type { PricesSettings } from '../config/settings.ts';
import type { PriceKind } from './bulk-prices.ts';

type KindSettings = PricesSettings['kinds'];
type PriceKinds = {
  readonly [Kind in PriceQuery['kind']]: {
    readonly topic: TopicRole;
    readonly plans: (settings: KindSettings[Kind]) => readonly SeriesPlan[];
  };
};

export function pricedTopics(prices: PricesSettings): readonly TopicRole[] {
  return [...new Set(enabledKinds(prices).map(({ topic }) => topic))];
}

export interface EnabledKind extends SeriesPlan {
  readonly kind: PriceKind;
  readonly topic: TopicRole;
  readonly refreshIntervalMs: number;
}

/** Returns the kinds of prices to request; empty if prices are disabled. Only the first kind answers instrument records. */
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
    return { kind, topic, refreshIntervalMs, ...plan };
  });
}
