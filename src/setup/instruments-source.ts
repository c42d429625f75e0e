import { createCurrentDigests } from '../avro/current-digest.ts';
import { createNotificationEncoder } from '../avro/notification-encoder.ts';
import type { SchemaRegistry } from '../avro/registry.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import type { Settings, SourceSettingsOf } from '../config/settings.ts';
import type { Source } from '../connector/offset-partition.ts';
import { readCensus, recordAge } from '../connector/tasks/census-reader.ts';
import { createInstrumentsProvider } from '../connector/tasks/instruments-provider.ts';
import { createInstrumentsReport } from '../connector/tasks/instruments-report.ts';
import { createInstrumentsTask, type InstrumentsTaskOptions } from '../connector/tasks/instruments-task.ts';
import { KnownDeadRows, readKnownDeadRows } from '../connector/tasks/known-dead-rows.ts';
import { InstrumentsCore } from '../connector/walk/instruments-core.ts';
import { readInstrumentsOffset } from '../connector/walk/instruments-offset.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../connector/walk/instruments-settings.ts';
import type { WalkRequests } from '../connector/walk-requests.ts';
import { createEventDecoder } from '../decoding/event-decoder.ts';
import { createPageDecoder } from '../decoding/page-decoder.ts';
import type { HttpClient } from '../http/client.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import { RECORD_ALLOWANCE_BYTES, type TopicSpecification } from '../kafka/topic.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { createReferenceData, filterText } from '../provider/reference-data.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { createCoreSource } from './followed-source.ts';
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
  const { source, settings, topics, clock, events } = options;
  const filter = filterText(source);
  const schemas = registeredSchemas(options);
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
  const census = createCensus(options, schemas, eventsEndpoint, deadRows);
  return createCoreSource(options, {
    encoder: async (signal) => (await schemas(signal)).notifications,
    readOffset: (committed) => readInstrumentsOffset(committed, source.name, filter),
    startTask(common, offset, reset) {
      if (offset?.walkPending) {
        const { walk, walkCursor: cursor, counts } = offset;
        events.walkResumed({ source: source.name, walk, pages: counts.pages, cursor });
      }
      const decided = { ...source, filter, shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED };
      return createInstrumentsTask({
        ...common,
        targets: { source: source.name, ...topics },
        core: new InstrumentsCore(decided, offset, clock.monotonicMs(), reset),
        provider,
        deadRows,
        walkRequests: options.walkRequests,
        census,
        deleteOnEventTypes,
        walkIntervalMs: source.walkIntervalMs,
        instrumentsEndpoint,
        eventsEndpoint,
        report: createInstrumentsReport(source.name, events, source.walkIntervalMs),
      });
    },
  });
}

/** Reads what the instruments topic holds; once in the life of the process, the dead letters too, before its first walk. */
function createCensus(
  { source, topics, logReader: reader, clock }: SourceOptions,
  schemas: ReturnType<typeof registeredSchemas>,
  eventsEndpoint: string,
  deadRows: KnownDeadRows,
): InstrumentsTaskOptions['census'] {
  let knowsDeadRows = false;
  return async (offset, signal) => {
    if (!knowsDeadRows) {
      const tail = { reader, topic: topics.deadLetters, source: source.name, clock, signal };
      await readKnownDeadRows(deadRows, { ...tail, targetTopic: topics.instruments.name });
      knowsDeadRows = true;
    }
    const digests = (await schemas(signal)).digests(signal);
    const { since = null, serverDate: time = null } = offset ?? {};
    const eventRecords = { eventsEndpoint, since, ageMs: recordAge(time, clock.wallMs()) };
    return readCensus({ reader, topic: topics.instruments, digests, eventRecords, signal });
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
