import { readSchemaText, type SchemaName } from '../avro/schema-files.ts';
import { type Settings, topicOf } from '../config/settings.ts';
import { priceSchemaName } from '../decoding/priced.ts';
import type { TopicRole } from '../kafka/topic-plan.ts';
import { PRICE_KINDS, pricedTopics } from '../processor/prices/price-kinds.ts';
import type { PriceQuery } from '../provider/price-query.ts';

/** A subject of the registry that an installation uses: that of the values of one topic. */
export interface Subject {
  readonly subject: string;
  readonly topic: string;
  readonly name: SchemaName;
  /** The text that is registered. */
  readonly schema: string;
}

/** The schema of each topic whose values are Avro. */
const SCHEMA_OF: Readonly<Partial<Record<TopicRole, SchemaName>>> = {
  instruments: 'Instrument',
  'instrument-events': 'InstrumentEvent',
  'pre-trade-checks': 'PreTradeCheck',
  ...Object.fromEntries(
    (Object.keys(PRICE_KINDS) as PriceQuery['kind'][]).map((kind) => [PRICE_KINDS[kind].topic, priceSchemaName(kind)]),
  ),
  notifications: 'Notification',
};

/** The subjects of the topics that these settings write. */
export function subjectsOf(settings: Settings): readonly Subject[] {
  const written = settings.sources.flatMap((source) => Object.entries(source.topics) as [TopicRole, string][]);
  const { names } = settings.topics;
  const priced = pricedTopics(settings.prices).map((topic): [TopicRole, string] => [topic, names[topic]]);
  return [...written, ...priced, ['notifications', names.notifications] as const].flatMap(([role, ownName]) => {
    const name = SCHEMA_OF[role];
    if (name === undefined) return [];
    const topic = topicOf(settings, ownName);
    return [{ subject: `${topic}-value`, topic, name, schema: readSchemaText(name) }];
  });
}
