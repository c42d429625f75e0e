import type { TopicRole } from '../config/groups/topics.ts';
import { type Settings, type SourceSettings, topicOf } from '../config/settings.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import { schemaNameOf, type TopicPlan, topicPlan } from '../kafka/topic-plan.ts';
import { pricedTopics } from '../prices/enabled-kinds.ts';
import { readSchemaText, type SchemaName } from '../records/avro/schema-files.ts';

export type PlannedSources = ReturnType<typeof planSources>;

export function planSources({ prefix, topics, sources, prices }: Settings) {
  const { partitions, replicationFactor } = topics;
  const shared: TopicPlan = topicPlan({ prefix, names: topics.names, partitions, replicationFactor });
  /** Returns a source's topic, with the same configuration as the shared topic of its role. */
  const named = (role: keyof TopicPlan, name: string): TopicSpecification => ({
    ...shared[role],
    name: `${prefix}.${name}`,
  });
  const written = (some: readonly SourceSettings[]) =>
    some.flatMap((source) =>
      Object.entries(source.topics).map(([role, name]) => named(role as keyof typeof source.topics, name)),
    );
  const ofSources = written(sources);
  const own = [...ofSources, ...pricedTopics(prices).map((topic) => shared[topic])];
  const forAll = [shared['dead-letters'], shared.notifications, shared.offsets, shared.states];
  return {
    shared,
    written: ofSources,
    topics: [...own, ...forAll],
    /** The names of the topics that only some sources, or only the prices, need. */
    mayBeRefused: new Set(own.map(({ name }) => name)),
    writtenBy: (names: readonly string[]) => [
      ...written(sources.filter(({ name }) => names.includes(name))),
      shared['dead-letters'],
      shared.notifications,
    ],
    named,
  };
}

/** The topics of the sources and prices with these names, with the prefix. */
export function plannedTopics(settings: Settings, names: readonly string[]): readonly TopicSpecification[] {
  return planSources(settings).topics.filter(({ name }) => names.includes(name));
}

/** The consumer group of the price processor, and the instruments topics that this group reads. */
export function priceInputs(settings: Settings) {
  const { prefix, sources, prices } = settings;
  const topics = sources.flatMap((source) =>
    source.type === 'instruments' && prices.from.includes(source.name)
      ? [topicOf(settings, source.topics.instruments)]
      : [],
  );
  return { groupId: `${prefix}-prices`, topics };
}

/** A registry subject of the installation, for the values of one topic. */
export interface Subject {
  readonly subject: string;
  readonly topic: string;
  readonly name: SchemaName;
  readonly schema: string;
}

export function subjectsOf(settings: Settings): readonly Subject[] {
  const written = settings.sources.flatMap((source) => Object.entries(source.topics) as [TopicRole, string][]);
  const { names } = settings.topics;
  const priced = pricedTopics(settings.prices).map((topic): [TopicRole, string] => [topic, names[topic]]);
  return [...written, ...priced, ['notifications', names.notifications] as const].flatMap(([role, ownName]) => {
    const name = schemaNameOf(role);
    if (name === null) return [];
    const topic = topicOf(settings, ownName);
    return [{ subject: `${topic}-value`, topic, name, schema: readSchemaText(name) }];
  });
}
