import type { SourceSettingsOf } from '../../config/settings.ts';
import type { TopicSpecification } from '../../kafka/topic.ts';
import { EVENT_OFFSET } from '../../provider/page-link.ts';
import { createReferenceData, filterText } from '../../provider/reference-data.ts';
import { createCurrentDigests } from '../../records/avro/current-digest.ts';
import { createEventDecoder } from '../../records/decoding/event-decoder.ts';
import { createPageDecoder } from '../../records/decoding/page-decoder.ts';
import { readUpTo } from '../stream/committed-stream.ts';
import { readCensus, recordAge } from '../tasks/census-reader.ts';
import { createInstrumentsProvider } from '../tasks/instruments-provider.ts';
import { createInstrumentsTask, type InstrumentsTaskOptions } from '../tasks/instruments-task.ts';
import { KnownDeadRows, readKnownDeadRows } from '../tasks/known-dead-rows.ts';
import { InstrumentsCore } from '../walk/instruments-core.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../walk/instruments-messages.ts';
import {
  committedWalkIntervalMs,
  readInstrumentsOffset,
  walkTwice,
  writeInstrumentsOffset,
} from '../walk/instruments-offset.ts';
import { marginMs } from '../walk/list-lag.ts';
import { createCoreSource, type SourceContext, type SourceKind, withSchemas } from './kind.ts';

export const INSTRUMENTS: SourceKind<SourceSettingsOf<'instruments'>> = {
  connectorClass: 'InstrumentsSource',
  items: 'events',
  walks: true,
  offsets: { words: '<digits>-<digits>', form: EVENT_OFFSET, areOrdered: true },
  streamTopic: ({ topics }) => topics['instrument-events'],
  readOffset: (source, committed) => readInstrumentsOffset(committed, source.name, filterText(source)),
  moved(source, offset, nowMs) {
    const walking = walkTwice(readInstrumentsOffset(offset, source.name, String(offset.filter)), nowMs);
    return writeInstrumentsOffset(walking, committedWalkIntervalMs(offset));
  },
  create(source, context) {
    const { settings, topics, http, clock, events } = context;
    const { 'dead-letters': deadLetters, notifications } = topics.shared;
    const instruments = topics.named('instruments', source.topics.instruments);
    const instrumentEvents = topics.named('instrument-events', source.topics['instrument-events']);
    const filter = filterText(source);
    const schemas = instrumentSchemas(source, context, { instruments, instrumentEvents });
    const referenceData = createReferenceData({ http, baseUrl: settings.referenceData.url, filter: source });
    const { instrumentsEndpoint, eventsEndpoint } = referenceData;
    const { limit, maxEvents, deleteOnEventTypes, walkIntervalMs, handoffMarginMs } = source;
    const provider = createInstrumentsProvider({
      referenceData,
      decoders: async (signal) => (await schemas(signal)).decoders,
      limit,
      maxEvents,
      maxDeadLetters: settings.mapping.maxDeadLetters,
      clock,
    });
    const deadRows = new KnownDeadRows();
    const census = createCensus(source.name, context, { schemas, instruments, eventsEndpoint, deadRows });
    return createCoreSource(source, context, {
      schemas,
      readOffset: (committed) => readInstrumentsOffset(committed, source.name, filter),
      startTask(options, offset, reset, topicIds) {
        if (offset?.walkPending) {
          const { walk, walkCursor: cursor, counts } = offset;
          const waitMs = marginMs(source, offset);
          events.walkResumed({ source: source.name, walk, pages: counts.pages, cursor, waitMs });
        }
        const decided = { ...source, filter, shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED };
        return createInstrumentsTask({
          ...options,
          targets: { source: source.name, instruments, instrumentEvents, deadLetters, notifications },
          core: new InstrumentsCore(decided, offset, clock.monotonicMs(), reset, topicIds.get(instruments.name)),
          provider,
          deadRows,
          walkRequests: context.walkRequests,
          census,
          deleteOnEventTypes,
          walkIntervalMs,
          handoffMarginMs,
          instrumentsEndpoint,
          eventsEndpoint,
        });
      },
    });
  },
};

function instrumentSchemas(
  source: SourceSettingsOf<'instruments'>,
  context: SourceContext,
  { instruments, instrumentEvents }: Readonly<Record<'instruments' | 'instrumentEvents', TopicSpecification>>,
) {
  const written = { Instrument: instruments, InstrumentEvent: instrumentEvents };
  return withSchemas(source, context, written, ({ Instrument: instrument, InstrumentEvent: event }, mapping) => ({
    pages: createPageDecoder({ ...instrument, ...mapping, listKey: 'instruments' }),
    events: createEventDecoder({
      ...mapping,
      eventSchema: event.schema,
      eventSchemaId: event.schemaId,
      instrumentSchema: instrument.schema,
      instrumentSchemaId: instrument.schemaId,
    }),
    digests: (signal: AbortSignal) =>
      createCurrentDigests({ ...instrument, schemaText: (id) => context.registry.schemaText(id, signal) }),
  }));
}

function createCensus(
  source: string,
  { topics, logReader: reader, clock }: SourceContext,
  options: {
    readonly schemas: ReturnType<typeof instrumentSchemas>;
    readonly instruments: TopicSpecification;
    readonly eventsEndpoint: string;
    readonly deadRows: KnownDeadRows;
  },
): InstrumentsTaskOptions['census'] {
  const { schemas, instruments: topic, eventsEndpoint, deadRows } = options;
  let knowsDeadRows = false;
  return async (offset, signal) => {
    if (!knowsDeadRows) {
      const tail = { reader, topic: topics.shared['dead-letters'], source, clock, signal };
      await readKnownDeadRows(deadRows, { ...tail, targetTopic: topic.name });
      knowsDeadRows = true;
    }
    const digests = (await schemas(signal)).decoders.digests(signal);
    const { serverDate: time = null } = offset ?? {};
    const eventRecords = { eventsEndpoint, ...readUpTo(offset), ageMs: recordAge(time, clock.wallMs()) };
    return readCensus({ reader, topic, digests, eventRecords, signal });
  };
}
