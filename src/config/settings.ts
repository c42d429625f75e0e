import type { z } from 'zod';
import { crossCheck } from './cross-check.ts';
import { adminSettings } from './groups/admin.ts';
import { kafkaSettings } from './groups/kafka.ts';
import { logSettings } from './groups/log.ts';
import { mappingSettings } from './groups/mapping.ts';
import { marketDataSettings } from './groups/market-data.ts';
import { pricesSettings } from './groups/prices.ts';
import { referenceDataSettings } from './groups/reference-data.ts';
import { schemaRegistrySettings } from './groups/schema-registry.ts';
import { DEFAULT_SOURCES, sourcesSettings } from './groups/sources.ts';
import { SHARED_TOPICS, type TopicRole, topicsSettings } from './groups/topics.ts';
import { checkPricedSources } from './priced-sources.ts';
import type { SecretReader } from './secret.ts';
import { group, section, setting, text } from './setting.ts';

/** The topics that a source of each type writes; each topic has one source. */
const SOURCE_TOPICS = {
  instruments: ['instruments', 'instrument-events'],
  events: ['instrument-events'],
  'pre-trade-checks': ['pre-trade-checks'],
} as const satisfies Readonly<Record<z.output<typeof sourcesSettings>[number]['type'], readonly TopicRole[]>>;

/**
 * All settings, before and after the check. Each group has a file of its own under groups/, where every
 * setting has its line of documentation and its default.
 */
export function createSettingsSchema(secrets: SecretReader) {
  const settings = group({
    prefix: setting(
      text('letters, digits, dots, - and _', /^[A-Za-z0-9._-]{1,150}$/),
      'The prefix of all topics, groups and transactional ids: one per environment.',
      'structured-products',
    ),
    referenceData: section(referenceDataSettings(secrets), "The provider's reference data interface."),
    marketData: section(marketDataSettings(secrets), "The provider's market data interface."),
    kafka: section(kafkaSettings(secrets), 'Where the records go.'),
    schemaRegistry: section(schemaRegistrySettings(secrets), 'Where the schemas of the records are.'),
    topics: section(topicsSettings, 'Topics are <prefix>.<name>.'),
    sources: setting(sourcesSettings, 'What is read; each source has its own name and topics.', [...DEFAULT_SOURCES]),
    prices: section(pricesSettings, 'Prices of the instruments, requested in bulk.'),
    mapping: section(mappingSettings, 'How JSON becomes records.'),
    admin: section(adminSettings(secrets), 'Health, metrics, status page, and the REST interface of Kafka Connect.'),
    log: section(logSettings, 'What is logged.'),
  });
  return crossCheck(settings, ({ topics, sources, prices, marketData }, report) => {
    checkPricedSources({ marketData, prices, sources }, report);
    const owners = new Map<unknown, string>(
      SHARED_TOPICS.map((role) => [topics?.names?.[role], `topics.names.${role}`]),
    );
    for (const [position, source] of (Array.isArray(sources) ? sources : []).entries()) {
      for (const kind of topicsOf(source?.type)) {
        const topic = memberOf(source?.topics, kind) ?? topics?.names?.[kind];
        const owner = topic === undefined ? undefined : owners.get(topic);
        if (owner) {
          // Of two writers on one topic, each would delete the other's instruments.
          const message = `writes the topic ${topic}, as does ${owner}; name another in its topics.${kind}`;
          report(['sources', position, 'topics', kind], message);
        } else owners.set(topic, `sources[${position}]`);
      }
    }
  }).transform((value) => ({
    ...value,
    marketData: withAddress(value.marketData, value.referenceData.auth),
    prices: pricesThatRun(value),
    sources: value.sources.map((source) => withTopics(source, value.topics.names)),
  }));
}

type GivenMarketData = z.output<ReturnType<typeof marketDataSettings>>;
type Authentication = NonNullable<GivenMarketData['auth']>;

/** Null without an address: then prices cannot be requested. */
function withAddress({ url, auth, ...rest }: GivenMarketData, usual: Authentication) {
  return url === null ? null : { ...rest, url, auth: auth ?? usual };
}

/** Whether prices are followed, and of which sources. */
function pricesThatRun(value: {
  readonly marketData: GivenMarketData;
  readonly prices: z.output<typeof pricesSettings>;
  readonly sources: z.output<typeof sourcesSettings>;
}) {
  const { marketData, prices, sources } = value;
  const all = sources.filter(({ type }) => type === 'instruments').map(({ name }) => name);
  const from = prices.from.length > 0 ? prices.from : all;
  const isAsked = Object.values(prices.kinds).some(({ enabled }) => enabled);
  return { ...prices, from, enabled: prices.enabled && marketData.url !== null && from.length > 0 && isAsked };
}

function topicsOf(type: unknown): readonly TopicRole[] {
  return Object.entries(SOURCE_TOPICS).find(([known]) => known === type)?.[1] ?? [];
}

function memberOf(value: unknown, key: string): unknown {
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}

type TopicNames = z.output<typeof topicsSettings>['names'];

/** The source with the names of all topics that it writes: its own, or those for all. */
function withTopics(source: z.output<typeof sourcesSettings>[number], names: TopicNames) {
  switch (source.type) {
    case 'instruments': {
      const instruments = source.topics.instruments ?? names.instruments;
      return { ...source, topics: { instruments, ...eventsTopic(source.topics, names) } };
    }
    case 'events':
      return { ...source, topics: eventsTopic(source.topics, names) };
    case 'pre-trade-checks': {
      const checks = source.topics['pre-trade-checks'] ?? names['pre-trade-checks'];
      return { ...source, topics: { 'pre-trade-checks': checks } };
    }
    default:
      return source satisfies never;
  }
}

function eventsTopic(own: { readonly 'instrument-events': string | null }, names: TopicNames) {
  return { 'instrument-events': own['instrument-events'] ?? names['instrument-events'] };
}

/** The settings of one process, checked; durations in milliseconds, secrets as functions that print redacted. */
export type Settings = z.output<ReturnType<typeof createSettingsSchema>>;
export type ReferenceDataSettings = Settings['referenceData'];
/** Null when the interface has no address. */
export type MarketDataSettings = Settings['marketData'];
export type PricesSettings = Settings['prices'];
export type KafkaSettings = Settings['kafka'];
export type SchemaRegistrySettings = Settings['schemaRegistry'];
export type AdminSettings = Settings['admin'];
export type SourceSettings = Settings['sources'][number];
/** The settings of a source of one type. */
export type SourceSettingsOf<Type extends SourceSettings['type']> = Extract<SourceSettings, { readonly type: Type }>;

/** The whole name of a topic; `name` is what the settings call it. */
export function topicOf(settings: Pick<Settings, 'prefix'>, name: string): string {
  return `${settings.prefix}.${name}`;
}
