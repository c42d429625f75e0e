import type { Settings, SourceSettings } from '../config/settings.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import { type TopicPlan, topicPlan } from '../kafka/topic-plan.ts';
import { pricedTopics } from '../prices/enabled-kinds.ts';

/** The topics that some settings need, and the sources that write them. */
export interface PlannedSources {
  /** All of them, to be created or verified before a source is made. */
  readonly topics: readonly TopicSpecification[];
  /** Names of those that some sources or the prices need, and the others do not. */
  readonly mayBeRefused: ReadonlySet<string>;
  readonly shared: TopicPlan;
  /** Every topic that some sources write, beside their offsets. */
  writtenBy(sources: readonly string[]): readonly TopicSpecification[];
  /** The topic of a source for what has this role. */
  named(role: keyof TopicPlan, name: string): TopicSpecification;
}

export function planSources({ prefix, topics, sources, prices }: Settings): PlannedSources {
  const { partitions, replicationFactor } = topics;
  const shared: TopicPlan = topicPlan({ prefix, names: topics.names, partitions, replicationFactor });
  const named = (role: keyof TopicPlan, name: string) => ({ ...shared[role], name: `${prefix}.${name}` });
  const written = (some: readonly SourceSettings[]) =>
    some.flatMap((source) =>
      Object.entries(source.topics).map(([role, name]) => named(role as keyof typeof source.topics, name)),
    );
  const own = [...written(sources), ...pricedTopics(prices).map((topic) => shared[topic])];
  const forAll = [shared['dead-letters'], shared.notifications, shared.offsets, shared.states];
  return {
    shared,
    topics: [...own, ...forAll],
    mayBeRefused: new Set(own.map(({ name }) => name)),
    writtenBy: (names) => [
      ...written(sources.filter(({ name }) => names.includes(name))),
      shared['dead-letters'],
      shared.notifications,
    ],
    named,
  };
}
