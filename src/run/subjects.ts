import type { TopicRole } from '../config/groups/topics.ts';
import { PRICE_KINDS } from '../config/price-kinds/all.ts';
import { type Settings, topicOf } from '../config/settings.ts';
import { pricedTopics } from '../prices/enabled-kinds.ts';
import { readSchemaText, type SchemaName } from '../records/avro/schema-files.ts';

/** A subject of the registry that an installation uses: that of the values of one topic. */
export interface Subject {
  readonly subject: string;
  readonly topic: string;
  readonly name: SchemaName;
  /** The text that is registered. */
  readonly schema: string;
}

/** The schema of each topic; null where its values are not Avro. */
const SCHEMA_OF = {
  instruments: 'Instrument',
  'instrument-events': 'InstrumentEvent',
  'pre-trade-checks': 'PreTradeCheck',
  prices: PRICE_KINDS.overview.schema,
  'daily-prices': PRICE_KINDS.daily.schema,
  'intraday-prices': PRICE_KINDS.intraday.schema,
  notifications: 'Notification',
  'dead-letters': null,
  offsets: null,
  states: null,
} as const satisfies Readonly<Record<TopicRole, SchemaName | null>>;

/** The subjects of the topics that these settings write. */
export function subjectsOf(settings: Settings): readonly Subject[] {
  const written = settings.sources.flatMap((source) => Object.entries(source.topics) as [TopicRole, string][]);
  const { names } = settings.topics;
  const priced = pricedTopics(settings.prices).map((topic): [TopicRole, string] => [topic, names[topic]]);
  return [...written, ...priced, ['notifications', names.notifications] as const].flatMap(([role, ownName]) => {
    const name = SCHEMA_OF[role];
    if (name === null) return [];
    const topic = topicOf(settings, ownName);
    return [{ subject: `${topic}-value`, topic, name, schema: readSchemaText(name) }];
  });
}
