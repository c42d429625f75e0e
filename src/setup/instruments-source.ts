import { createCurrentDigests } from '../avro/current-digest.ts';
import { createNotificationEncoder } from '../avro/notification-encoder.ts';
import type { SchemaRegistry } from '../avro/registry.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import type { Settings, SourceSettingsOf } from '../config/settings.ts';
import type { Source } from '../connector/offset-partition.ts';
import { readResetOffset } from '../connector/stream/reset-offset.ts';
import { readCensus, recordAge } from '../connector/tasks/census-reader.ts';
import { createInstrumentsProvider } from '../connector/tasks/instruments-provider.ts';
import { createInstrumentsReport } from '../connector/tasks/instruments-report.ts';
import { createInstrumentsTask } from '../connector/tasks/instruments-task.ts';
import { KnownDeadRows, readKnownDeadRows } from '../connector/tasks/known-dead-rows.ts';
import { ListHold } from '../connector/tasks/list-hold.ts';
import { InstrumentsCore } from '../connector/walk/instruments-core.ts';
import { readInstrumentsOffset } from '../connector/walk/instruments-offset.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../connector/walk/instruments-settings.ts';
import type { WalkRequests } from '../connector/walk-requests.ts';
import { createEventDecoder } from '../decoding/event-decoder.ts';
import { createPageDecoder } from '../decoding/page-decoder.ts';
import type { HttpClient } from '../http/client.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import { offsetKey, parseReset } from '../kafka/offset-store.ts';
import { RECORD_ALLOWANCE_BYTES, type TopicSpecification } from '../kafka/topic.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { createReferenceData, filterText } from '../provider/reference-data.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { registeredOnce } from './registered-once.ts';

export interface SourceTopics {
  readonly instruments: TopicSpecification;
  readonly instrumentEvents: TopicSpecification;
  readonly deadLetters: TopicSpecification;
  readonly notifications: TopicSpecification;
  /** The largest record that the topics of instruments and events take, in bytes. */
  readonly maxRecordBytes: number;
}

export interface SourceOptions {
  readonly source: SourceSettingsOf<'instruments'>;
  readonly settings: Settings;
  readonly topics: SourceTopics;
  readonly http: HttpClient;
  readonly registry: SchemaRegistry;
  readonly logReader: LogReader;
  readonly walkRequests: WalkRequests;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ConnectorEvents;
}

/** An instruments source from its settings: everything that its task needs, put together. */
export function createInstrumentsSource(options: SourceOptions): Source {
  const { source, settings, topics, clock, random, events } = options;
  const filter = filterText(source);
  const schemas = registeredSchemas(options);
  const targets = { source: source.name, ...topics };
  const referenceData = createReferenceData({
    http: options.http,
    baseUrl: settings.referenceData.url,
    filter: source,
  });
  const { instrumentsEndpoint, eventsEndpoint } = referenceData;
  const { limit, maxEvents, deleteOnEventTypes } = source;
  const { maxDeadLetters } = settings.mapping;
  const provider = createInstrumentsProvider({
    referenceData,
    decoders: schemas,
    limit,
    maxEvents,
    maxDeadLetters,
    clock,
  });
  const deadRows = new KnownDeadRows();
  let knowsDeadRows = false;
  /** Once in the life of the process, before its first walk. */
  async function readDeadRows(signal: AbortSignal): Promise<void> {
    if (knowsDeadRows) return;
    const { deadLetters: topic, instruments } = topics;
    const tail = { reader: options.logReader, topic, source: source.name, clock, signal };
    await readKnownDeadRows(deadRows, { ...tail, targetTopic: instruments.name });
    knowsDeadRows = true;
  }

  return {
    name: source.name,
    offsetKey: offsetKey(source.name, source.type),
    startTask(committed) {
      const before = committed && parseReset(committed);
      const offset = committed && !before ? readInstrumentsOffset(committed, source.name, filter) : null;
      const core = new InstrumentsCore(
        { ...source, filter, shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED },
        offset,
        clock.monotonicMs(),
        before && readResetOffset(before),
      );
      if (offset?.walkPending) {
        const { walk, walkCursor: cursor, counts } = offset;
        events.walkResumed({ source: source.name, walk, pages: counts.pages, cursor });
      }
      return createInstrumentsTask({
        targets,
        core,
        provider,
        deadRows,
        walkRequests: options.walkRequests,
        census: async (offset, signal) => {
          await readDeadRows(signal);
          const digests = (await schemas(signal)).digests(signal);
          const { since = null, serverDate: time = null } = offset ?? {};
          const eventRecords = { eventsEndpoint, since, ageMs: recordAge(time, clock.wallMs()) };
          return readCensus({ reader: options.logReader, topic: topics.instruments, digests, eventRecords, signal });
        },
        notificationEncoder: async (signal) => (await schemas(signal)).notifications,
        deleteOnEventTypes,
        instrumentsEndpoint,
        eventsEndpoint,
        listHold: new ListHold({ source: source.name, events, clock, random }),
        report: createInstrumentsReport(source.name, events, source.walkIntervalMs),
        clock,
        random,
      });
    },
  };
}

/** Everything that needs registered schemas, made when they are; asked again until then. */
function registeredSchemas({ source, settings, topics, registry, clock, events }: SourceOptions) {
  const { onMismatch } = settings.mapping;
  const maxValueBytes = topics.maxRecordBytes - RECORD_ALLOWANCE_BYTES;
  const texts = {
    instrument: readSchemaText('Instrument'),
    event: readSchemaText('InstrumentEvent'),
    notification: readSchemaText('Notification'),
  };
  const idOf = (topic: TopicSpecification, text: string, signal: AbortSignal) =>
    registry.schemaId(`${topic.name}-value`, text, signal);

  async function make(signal: AbortSignal) {
    const [instrumentId, eventId, notificationId] = await Promise.all([
      idOf(topics.instruments, texts.instrument, signal),
      idOf(topics.instrumentEvents, texts.event, signal),
      idOf(topics.notifications, texts.notification, signal),
    ]);
    const instruments = { schema: texts.instrument, schemaId: instrumentId };
    return {
      notifications: createNotificationEncoder({ schema: texts.notification, schemaId: notificationId }),
      pages: createPageDecoder({ ...instruments, listKey: 'instruments', onMismatch, maxValueBytes, clock }),
      events: createEventDecoder({
        eventSchema: texts.event,
        eventSchemaId: eventId,
        instrumentSchema: texts.instrument,
        instrumentSchemaId: instrumentId,
        onMismatch,
        maxValueBytes,
        clock,
      }),
      digests: (used: AbortSignal) =>
        createCurrentDigests({ ...instruments, schemaText: (id) => registry.schemaText(id, used) }),
    };
  }

  return registeredOnce(make, () => events.schemasRegistered({ source: source.name }));
}
