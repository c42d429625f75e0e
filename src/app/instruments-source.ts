import { createPageDecoder, type PageDecoder } from '../avro/page-decoder.ts';
import type { SchemaRegistry } from '../avro/registry.ts';
import type { Settings, SourceSettings } from '../config/settings.ts';
import type { Source } from '../connector/offset-partition.ts';
import { readInstrumentsOffset } from '../connector/tasks/instruments-offset.ts';
import { createInstrumentsTask } from '../connector/tasks/instruments-task.ts';
import type { HttpClient } from '../http/client.ts';
import { offsetKey, offsetRecord } from '../kafka/offset-store.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { createReferenceData, filterText } from '../provider/reference-data.ts';
import type { Clock } from '../support/clock.ts';

// Key, headers and framing of a record; the limit of a topic counts them too.
const RECORD_ALLOWANCE_BYTES = 4_096;

export interface SourceTopics {
  readonly instruments: TopicSpecification;
  readonly deadLetters: TopicSpecification;
  readonly offsets: TopicSpecification;
  /** The largest record that the instruments topic takes, in bytes. */
  readonly maxRecordBytes: number;
}

/** An instruments source from its settings: everything that its task needs, put together. */
export function createInstrumentsSource(options: {
  readonly source: SourceSettings;
  readonly settings: Settings;
  readonly topics: SourceTopics;
  readonly http: HttpClient;
  readonly registry: SchemaRegistry;
  /** The Avro schema of an instrument, as text. */
  readonly schema: string;
  readonly clock: Clock;
  readonly events: ConnectorEvents;
}): Source {
  const { source, settings, topics, http, registry, schema, clock, events } = options;
  const key = offsetKey(source.name, source.type);
  const filter = filterText(source);
  const subject = `${topics.instruments.name}-value`;
  let decoder: PageDecoder | null = null;

  async function registeredDecoder(signal: AbortSignal): Promise<PageDecoder> {
    if (decoder !== null) return decoder;
    const schemaId = await registry.schemaId(subject, schema, signal);
    const { onMismatch } = settings.mapping;
    const maxValueBytes = topics.maxRecordBytes - RECORD_ALLOWANCE_BYTES;
    decoder = createPageDecoder({ schema, schemaId, listKey: 'instruments', onMismatch, maxValueBytes, clock });
    return decoder;
  }

  return {
    name: source.name,
    offsetKey: key,
    startTask: (committed) =>
      createInstrumentsTask({
        targets: { source: source.name, instruments: topics.instruments, deadLetters: topics.deadLetters },
        offset: committed === null ? null : readInstrumentsOffset(committed, source.name, filter),
        filter,
        referenceData: createReferenceData({ http, baseUrl: settings.referenceData.url, filter: source }),
        decoder: registeredDecoder,
        offsetRecord: (offset) => offsetRecord({ topic: topics.offsets.name, key, offset }),
        limit: source.limit,
        walkIntervalMs: source.walkIntervalMs,
        maxDeadLetters: settings.mapping.maxDeadLetters,
        clock,
        events,
      }),
  };
}
