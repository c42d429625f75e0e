import type { ConnectorDescription } from '../admin/connect-shapes.ts';
import type { Settings } from '../config/settings.ts';
import type { TopicPlan } from '../kafka/topic-plan.ts';
import { pricedTopics } from '../processor/prices/enabled-kinds.ts';
import { PRICE_PROCESSOR } from '../worker/target.ts';

const CLASSES: Readonly<Record<Settings['sources'][number]['type'] | 'prices', string>> = {
  instruments: 'structured-products-connect.InstrumentsSource',
  events: 'structured-products-connect.EventsSource',
  'pre-trade-checks': 'structured-products-connect.PreTradeChecksSource',
  prices: 'structured-products-connect.PriceProcessor',
};

/** The sources of the settings, in the words of Kafka Connect. Nothing of them is secret. */
export function describeSources({ prefix, sources }: Pick<Settings, 'prefix' | 'sources'>): ConnectorDescription[] {
  return sources.map((source) => ({
    name: source.name,
    type: 'source',
    topics: Object.values(source.topics).map((topic) => `${prefix}.${topic}`),
    config: {
      'connector.class': CLASSES[source.type],
      'tasks.max': '1',
      ...flatTexts(source),
    },
  }));
}

/** The price processor: a sink, since it reads Kafka as a consumer group; Kafka Connect has no type that also writes. */
export function describeProcessor({ prices }: Pick<Settings, 'prices'>, topics: TopicPlan): ConnectorDescription {
  return {
    name: PRICE_PROCESSOR,
    type: 'sink',
    topics: pricedTopics(prices).map((topic) => topics[topic].name),
    config: { 'connector.class': CLASSES.prices, 'tasks.max': '1', name: PRICE_PROCESSOR, ...flatTexts(prices) },
  };
}

function flatTexts(value: object): Record<string, string> {
  return Object.fromEntries(flatten(value).map(([key, member]) => [key, String(member)]));
}

function flatten(value: object, path = ''): [key: string, value: unknown][] {
  return Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const name = path === '' ? key : `${path}.${key}`;
    if (Array.isArray(member)) return [[name, member.join(',')]];
    if (typeof member === 'object' && member !== null) return flatten(member, name);
    return [[name, member ?? '']];
  });
}
