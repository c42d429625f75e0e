import type { z } from 'zod';
import { adminSettings } from './groups/admin.ts';
import { kafkaSettings } from './groups/kafka.ts';
import { marketDataSettings, referenceDataSettings } from './groups/provider-interface.ts';
import { schemaRegistrySettings } from './groups/schema-registry.ts';
import { DEFAULT_SOURCES, sourcesSettings } from './groups/sources.ts';
import { SHARED_TOPICS, type TopicRole, topicsSettings } from './groups/topics.ts';
import { PRICE_KINDS } from './price-kinds/all.ts';
import { memberOf } from './problem.ts';
import type { SecretReader } from './secret.ts';
import {
  crossCheck,
  decimal,
  duration,
  flag,
  group,
  inMilliseconds,
  listOf,
  oneOf,
  type Report,
  section,
  setting,
  text,
  type Unchecked,
  wholeNumber,
} from './setting.ts';

const pricesSettings = group({
  enabled: setting(flag(), 'Request prices, if marketData.url is set.', true),
  from: setting(
    listOf(text('the name of a source')),
    'Names of the sources whose instruments are priced; empty: the only instruments source. Several sources need different values of legalCountry.',
    [],
  ),
  kinds: section(
    group({
      overview: section(PRICE_KINDS.overview.settings, 'The latest price of each instrument.'),
      daily: section(PRICE_KINDS.daily.settings, 'Prices by day.'),
      intraday: section(PRICE_KINDS.intraday.settings, 'Prices by windows within a day.'),
    }),
    'The kinds of prices.',
  ),
  maxItems: setting(
    wholeNumber(1, 10_000),
    'Instruments in a bulk request; reduced if the provider refuses so many.',
    500,
  ),
  linger: setting(
    duration('0s', '1m'),
    'How long a new or changed instrument waits for others in its request.',
    '250ms',
  ),
  concurrency: setting(wholeNumber(1, 8), 'Bulk requests in flight at a time, for each kind.', 4),
  maxBackoff: setting(
    duration('1s', '7d'),
    'The longest pause before an instrument that fails is requested again.',
    '1h',
  ),
  repaidAfter: setting(
    duration('0s', '366d'),
    'If the repaymentDate of an instrument is longer ago than this, the instrument is requested only once a day.',
    '7d',
  ),
}).transform(inMilliseconds('linger', 'maxBackoff', 'repaidAfter'));

const mappingSettings = group({
  onMismatch: setting(
    oneOf(['deadLetter', 'keepInExtras']),
    'What happens to a record with a known field of the wrong type: deadLetter, or keepInExtras (the field is null, extras keep the text).',
    'deadLetter',
  ),
  maxDeadLetters: setting(
    decimal(0, 1),
    'The largest share of dead letters in one response, and in the last 1,000 rows. Above it, the source stops. Up to 20 are always allowed.',
    0.05,
  ),
});

const logSettings = group({
  level: setting(
    oneOf(['debug', 'info', 'warn', 'error']),
    'debug (which also shows stacks), info, warn or error.',
    'info',
  ),
  format: setting(
    oneOf(['auto', 'text', 'json']),
    'text for people, json for programs; auto: text on a terminal, json elsewhere.',
    'auto',
  ),
});

/** The schema of all settings. Large groups have their files under groups/. */
export function createSettingsSchema(secrets: SecretReader) {
  const settings = group({
    prefix: setting(
      text('1 to 150 letters, digits, dots, - and _', /^[A-Za-z0-9._-]{1,150}$/),
      'The prefix of all topics, groups and transactional ids: one per environment.',
      'structured-products',
    ),
    referenceData: section(referenceDataSettings(secrets), "The provider's reference data interface."),
    marketData: section(marketDataSettings(secrets), "The provider's market data interface."),
    kafka: section(kafkaSettings(secrets), 'The Kafka cluster for the records.'),
    schemaRegistry: section(schemaRegistrySettings(secrets), 'The registry for the schemas of the records.'),
    topics: section(topicsSettings, 'Topics are <prefix>.<name>.'),
    sources: setting(sourcesSettings, 'Each source has a different name and different topics.', [...DEFAULT_SOURCES]),
    prices: section(pricesSettings, 'Prices of the instruments, requested in bulk.'),
    mapping: section(mappingSettings, 'How JSON becomes records.'),
    admin: section(adminSettings(secrets), 'Health, metrics, status page, and the REST interface of Kafka Connect.'),
    log: section(logSettings, 'What is logged.'),
  });
  return crossCheck(settings, ({ topics, sources, prices, marketData }, report) => {
    checkPricedSources({ marketData, prices, sources }, report);
    const owners = new Map<unknown, TopicOwner>(
      SHARED_TOPICS.map((role) => [topics?.names?.[role], { name: `topics.names.${role}`, role }]),
    );
    const sameNames = new Set<string>();
    for (const [position, source] of (Array.isArray(sources) ? sources : []).entries()) {
      // The check of types reports topics that are no group.
      if (source?.enabled === false || Array.isArray(source?.topics) || typeof source?.topics !== 'object') continue;
      for (const [kind, own] of Object.entries<unknown>(source.topics ?? {})) {
        const topic = own ?? topics?.names?.[kind as TopicRole];
        const owner = topic === undefined ? undefined : owners.get(topic);
        if (owner === undefined) {
          owners.set(topic, { name: `sources[${position}]`, role: own ? null : kind });
        } else if (!own && owner.role !== null && owner.role !== kind) {
          if (!sameNames.has(kind))
            report(
              ['topics', 'names', kind],
              `is the same topic as topics.names.${owner.role}; each needs a different topic`,
            );
          sameNames.add(kind);
        } else {
          // Two sources on one topic delete each other's instruments.
          const message = `writes the topic ${topic}, which ${owner.name} uses too; set another topic in topics.${kind} of this source`;
          report(['sources', position, 'topics', kind], message);
        }
      }
    }
  }).transform((given) => {
    const value = { ...given, sources: given.sources.filter(({ enabled }) => enabled) };
    return {
      ...value,
      marketData: withAddress(value.marketData, value.referenceData),
      prices: pricesThatRun(value),
      sources: value.sources.map((source) => withTopics(source, value.topics.names)),
    };
  });
}

/** `role`: if the owner has its topic from `topics.names`, the role of the topic; else null. */
interface TopicOwner {
  readonly name: string;
  readonly role: string | null;
}

type GivenReferenceData = z.output<ReturnType<typeof referenceDataSettings>>;
type GivenMarketData = z.output<ReturnType<typeof marketDataSettings>>;

/** `login`: the name of the group of settings with the authentication that is used. */
function withAddress({ url, auth, ...rest }: GivenMarketData, usual: GivenReferenceData) {
  if (url === null) return null;
  if (auth !== null) return { ...rest, url, auth, login: 'marketData.auth' };
  // `url` is already checked. So `allowHttp` now only concerns the token address, which is in referenceData.
  return { ...rest, url, auth: usual.auth, login: 'referenceData.auth', allowHttp: usual.allowHttp || rest.allowHttp };
}

function pricesThatRun(value: {
  readonly marketData: GivenMarketData;
  readonly prices: z.output<typeof pricesSettings>;
  readonly sources: z.output<typeof sourcesSettings>;
}) {
  const { marketData, prices, sources } = value;
  const all = sources.filter(({ type }) => type === 'instruments').map(({ name }) => name);
  const from = prices.from.length > 0 ? prices.from.filter((name) => all.includes(name)) : all;
  const isAsked = Object.values(prices.kinds).some(({ enabled }) => enabled);
  return { ...prices, from, enabled: prices.enabled && marketData.url !== null && from.length > 0 && isAsked };
}

type WithTopics<Source> = Source extends { readonly topics: infer Topics }
  ? Omit<Source, 'topics'> & { readonly topics: { readonly [Role in keyof Topics]: string } }
  : never;

/** Adds the names of all topics that the source writes: the names in its settings, or those in `topics.names`. */
function withTopics(
  source: z.output<typeof sourcesSettings>[number],
  names: z.output<typeof topicsSettings>['names'],
): WithTopics<typeof source> {
  const topics = Object.entries(source.topics).map(([role, own]) => [role, own ?? names[role as TopicRole]]);
  return { ...source, topics: Object.fromEntries(topics) };
}

/** The checked settings of a process. Durations are milliseconds. A secret is a function that prints as `[secret]`. */
export type Settings = z.output<ReturnType<typeof createSettingsSchema>>;
export type ReferenceDataSettings = Settings['referenceData'];
export type PricesSettings = Settings['prices'];
export type KafkaSettings = Settings['kafka'];
export type SchemaRegistrySettings = Settings['schemaRegistry'];
export type AdminSettings = Settings['admin'];
export type SourceSettings = Settings['sources'][number];

export type SourceSettingsOf<Type extends SourceSettings['type']> = Extract<SourceSettings, { readonly type: Type }>;

/** Adds the prefix to the name that a topic has in the settings. */
export function topicOf(settings: Pick<Settings, 'prefix'>, name: string): string {
  return `${settings.prefix}.${name}`;
}

interface PricedSource {
  readonly name: unknown;
  readonly country: string | null;
}

const ADVICE = 'give each source a different legalCountry, or name only one source';

// Two priced sources must not have the same instrument. A topic of prices has one record per instrument: when the first
// source drops the instrument, its price is deleted, although the second source still has the instrument.
function checkPricedSources(
  { marketData, prices, sources }: Unchecked<Record<'marketData' | 'prices' | 'sources', unknown>>,
  report: Report,
): void {
  const given = memberOf(prices, 'from');
  const from: readonly unknown[] = Array.isArray(given) ? given : [];
  if (!Array.isArray(sources)) return;
  const known = sources.filter((source) => memberOf(source, 'type') === 'instruments');
  const all = known.filter((source) => memberOf(source, 'enabled') !== false).map(pricedSource);
  const isKnown = (name: unknown) => known.some((source) => memberOf(source, 'name') === name);
  for (const [position, name] of from.entries()) {
    if (isKnown(name)) continue;
    report(['prices', 'from', position], `names ${JSON.stringify(name)}, which is not a source of type instruments`);
  }
  if (!isPriced(marketData, prices)) return;
  const names = all.map(({ name }) => JSON.stringify(name)).join(', ');
  const isOff = (name: unknown) => isKnown(name) && !all.some((source) => source.name === name);
  if (from.length > 0 && all.length > 0 && from.every(isOff)) {
    report(['prices', 'from'], `names only sources that are off; use some of ${names}`);
  }
  if (from.length === 0 && (given === undefined || Array.isArray(given)) && all.length > 1) {
    report(['prices', 'from'], `is empty, but there are ${all.length} instruments sources; use some of ${names}`);
  }
  const positions = [...new Set(from)].map((name) => ({ name, position: from.indexOf(name) }));
  const named = positions.flatMap(({ name, position }) =>
    all.filter((source) => source.name === name).map((source) => ({ ...source, position })),
  );
  for (const [at, source] of named.entries()) {
    const other = named.slice(0, at).find((earlier) => mayOverlap(earlier, source));
    if (other === undefined) continue;
    const what = `names ${JSON.stringify(source.name)}, which may have the same instruments as ${JSON.stringify(other.name)}`;
    report(['prices', 'from', source.position], `${what}: ${ADVICE}`);
  }
}

/** A code of two letters and a code of three letters may name the same country. An instrument has one legal country. */
function mayOverlap(one: PricedSource, other: PricedSource): boolean {
  if (one.country === null || other.country === null) return true;
  return one.country === other.country || one.country.length !== other.country.length;
}

function isPriced(marketData: unknown, prices: unknown): boolean {
  const url = memberOf(marketData, 'url');
  const kinds = Object.values((memberOf(prices, 'kinds') ?? {}) as Readonly<Record<string, unknown>>);
  const isAsked = kinds.some((kind) => memberOf(kind, 'enabled') === true);
  return typeof url === 'string' && memberOf(prices, 'enabled') === true && isAsked;
}

function pricedSource(source: unknown): PricedSource {
  const country = memberOf(source, 'legalCountry');
  return { name: memberOf(source, 'name'), country: typeof country === 'string' ? country.toUpperCase() : null };
}
