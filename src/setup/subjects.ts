import { readSchemaText, type SchemaName } from '../avro/schema-files.ts';
import { type Settings, topicOf } from '../config/settings.ts';
import type { TopicRole } from '../kafka/topic-plan.ts';
import { askedKinds, PRICE_TOPICS } from './price-kinds.ts';

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
  prices: 'PriceSnapshot',
  'daily-prices': 'DailyPrice',
  'intraday-prices': 'IntradayPrice',
  notifications: 'Notification',
};

/** The subjects of the topics that these settings write. */
export function subjectsOf(settings: Settings): readonly Subject[] {
  const written = settings.sources.flatMap((source) => Object.entries(source.topics) as [TopicRole, string][]);
  const { names } = settings.topics;
  const priced = askedKinds(settings.prices).map(({ kind }): [TopicRole, string] => {
    const role = PRICE_TOPICS[kind];
    return [role, names[role]];
  });
  return [...written, ...priced, ['notifications', names.notifications] as const].flatMap(([role, ownName]) => {
    const name = SCHEMA_OF[role];
    if (name === undefined) return [];
    const topic = topicOf(settings, ownName);
    return [{ subject: `${topic}-value`, topic, name, schema: readSchemaText(name) }];
  });
}
