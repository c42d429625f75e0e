import type { SchemaRegistry } from '../avro/registry.ts';
import type { Settings, SourceSettings } from '../config/settings.ts';
import type { Source } from '../connector/offset-partition.ts';
import type { WalkRequests } from '../connector/walk-requests.ts';
import type { HttpClient } from '../http/client.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import { offsetKey } from '../kafka/offset-store.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import { type TopicPlan, topicPlan } from '../kafka/topic-plan.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { pricedTopics } from '../processor/prices/enabled-kinds.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { createEventsSource } from './events-source.ts';
import { createInstrumentsSource } from './instruments-source.ts';
import { createPreTradeChecksSource } from './pre-trade-checks-source.ts';
import type { VerifiedTopics } from './verified-topics.ts';

/** What all sources share. */
export interface SourceContext {
  readonly settings: Settings;
  readonly logReader: LogReader;
  readonly http: HttpClient;
  readonly registry: SchemaRegistry;
  readonly walkRequests: WalkRequests;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ConnectorEvents;
}

/** The topics that some settings need, and the sources that write them. */
export interface PlannedSources {
  /** All of them, to be created or verified before a source is made. */
  readonly topics: readonly TopicSpecification[];
  /** Names of those that some sources or the prices need, and the others do not. */
  readonly mayBeRefused: ReadonlySet<string>;
  readonly shared: TopicPlan;
  /** Every topic that some sources write, beside their offsets. */
  writtenBy(sources: readonly string[]): readonly TopicSpecification[];
  create(context: SourceContext, topics: VerifiedTopics): readonly Source[];
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
    create: (context, verified) =>
      sources.map((source) => madeAtStart(source, () => createSource(source, { ...context, shared, named, verified }))),
  };
}

/** It goes by how much its topics take, which is known only once they are verified. */
function madeAtStart({ name, type }: SourceSettings, make: () => Source): Source {
  let made: Source | undefined;
  const source = () => {
    made ??= make();
    return made;
  };
  return {
    name,
    offsetKey: offsetKey(name, type),
    async prepare(signal) {
      await source().prepare?.(signal);
    },
    startTask: (offset) => source().startTask(offset),
  };
}

function createSource(
  source: SourceSettings,
  {
    shared,
    named,
    verified,
    ...context
  }: SourceContext & {
    readonly shared: TopicPlan;
    readonly named: (role: keyof TopicPlan, name: string) => TopicSpecification;
    readonly verified: VerifiedTopics;
  },
): Source {
  const aside = {
    deadLetters: shared['dead-letters'],
    notifications: shared.notifications,
    offsets: shared.offsets,
  };
  const limitOf = (...written: readonly TopicSpecification[]) => Math.min(...written.map(verified.maxMessageBytes));
  switch (source.type) {
    case 'instruments': {
      const instruments = named('instruments', source.topics.instruments);
      const instrumentEvents = named('instrument-events', source.topics['instrument-events']);
      const maxRecordBytes = limitOf(instruments, instrumentEvents);
      return createInstrumentsSource({
        ...context,
        source,
        topics: { ...aside, instruments, instrumentEvents, maxRecordBytes },
      });
    }
    case 'events': {
      const target = named('instrument-events', source.topics['instrument-events']);
      return createEventsSource({ ...context, source, topics: { ...aside, target, maxRecordBytes: limitOf(target) } });
    }
    case 'pre-trade-checks': {
      const target = named('pre-trade-checks', source.topics['pre-trade-checks']);
      const own = { ...aside, target, maxRecordBytes: limitOf(target) };
      return createPreTradeChecksSource({ ...context, source, topics: own });
    }
  }
}
