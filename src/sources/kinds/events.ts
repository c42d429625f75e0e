import type { SourceSettingsOf } from '../../config/settings.ts';
import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import { keyedRecord } from '../../kafka/record.ts';
import { EVENT_OFFSET } from '../../provider/page-link.ts';
import { createReferenceData, filterText } from '../../provider/reference-data.ts';
import { readSchemaText } from '../../records/avro/schema-files.ts';
import { createEventDecoder, type DecodedEvent } from '../../records/decoding/event-decoder.ts';
import { createPageDecoder } from '../../records/decoding/page-decoder.ts';
import { readFollowerOffset } from '../stream/committed-stream.ts';
import { eventHeaders } from '../tasks/instrument-records.ts';
import { createInstrumentsProvider } from '../tasks/instruments-provider.ts';
import { followerNotification } from '../tasks/notification-texts.ts';
import { eventsReport } from '../tasks/response-report.ts';
import { createFollowedSource, type SourceKind, withSchemas } from './kind.ts';

const WORDS = {
  suspected:
    'The events were not read for nearly as long as the provider keeps them. Whatever it still serves is taken; what ' +
    'it has dropped is lost for good.',
  proven: 'Events are lost for good; the source goes on with those that come from now on.',
  expired: 'events of that time; nothing mends them, an instruments source would only show their results',
  lost: 'events between the two offsets; nothing mends them, an instruments source would only show their results',
  restart: 'The source goes on with the events that come from now on.',
};

export const EVENTS: SourceKind<SourceSettingsOf<'events'>> = {
  connectorClass: 'EventsSource',
  items: 'events',
  walks: false,
  offsets: { words: '<digits>-<digits>', form: EVENT_OFFSET, areOrdered: true },
  streamTopic: ({ topics }) => topics['instrument-events'],
  readOffset: (source, committed) =>
    readFollowerOffset(committed, { source: source.name, filter: filterText(source), mayLackSince: false }),
  moved: (_, offset) => offset,
  create(source, context) {
    const { settings, topics, http, clock, events } = context;
    const target = topics.named('instrument-events', source.topics['instrument-events']);
    const instrument = readSchemaText('Instrument');
    const schemas = withSchemas(
      source,
      context,
      { InstrumentEvent: target },
      ({ InstrumentEvent: event }, mapping) => ({
        // Instruments and list rows are decoded and not written, so they need no id of the registry.
        events: createEventDecoder({
          ...mapping,
          eventSchema: event.schema,
          eventSchemaId: event.schemaId,
          instrumentSchema: instrument,
          instrumentSchemaId: event.schemaId,
        }),
        pages: createPageDecoder({ ...mapping, schema: instrument, schemaId: event.schemaId, listKey: 'instruments' }),
      }),
    );
    const referenceData = createReferenceData({ http, baseUrl: settings.referenceData.url, filter: source });
    return createFollowedSource<DecodedEvent>(source, context, {
      schemas,
      filter: filterText(source),
      begins: 'atGivenStart',
      stream: createInstrumentsProvider({
        referenceData,
        decoders: async (signal) => (await schemas(signal)).decoders,
        limit: 1,
        maxEvents: source.maxEvents,
        maxDeadLetters: settings.mapping.maxDeadLetters,
        clock,
      }),
      endpoint: referenceData.eventsEndpoint,
      kind: 'events',
      records(rows, provenance) {
        const deadLetters = { topic: topics.shared['dead-letters'], source: source.name, targetTopic: target.name };
        const headersOf = eventHeaders(provenance);
        return rows.map((event) =>
          event.kind === 'event'
            ? keyedRecord(target, event.key, event.eventValue, headersOf(event))
            : deadLetterRecord({ ...deadLetters, input: event, provenance }),
        );
      },
      notification: (notification) => followerNotification(source.name, notification, WORDS),
      committed: (answer, commitMs) => events.eventsCommitted(eventsReport(source.name, answer, commitMs)),
    });
  },
};
