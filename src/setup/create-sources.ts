import type { SchemaRegistry } from '../avro/registry.ts';
import type { Settings, SourceSettings } from '../config/settings.ts';
import type { Source } from '../connector/offset-partition.ts';
import type { WalkRequests } from '../connector/walk-requests.ts';
import type { HttpClient } from '../http/client.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import { offsetKey } from '../kafka/offset-store.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { createEventsSource } from './events-source.ts';
import { createInstrumentsSource } from './instruments-source.ts';
import type { PlannedSources } from './planned-sources.ts';
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

/** The sources of the settings, which write to the topics of their plan. */
export function createSources(
  plan: PlannedSources,
  verified: VerifiedTopics,
  context: SourceContext,
): readonly Source[] {
  const { sources } = context.settings;
  return sources.map((source) => madeAtStart(source, () => createSource(source, plan, verified, context)));
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
  { shared, named }: PlannedSources,
  verified: VerifiedTopics,
  context: SourceContext,
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
