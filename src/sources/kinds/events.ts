import type { SourceSettingsOf } from '../../config/settings.ts';
import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import { keyedRecord, type OutgoingRecord } from '../../kafka/record.ts';
import { EVENT_OFFSET } from '../../provider/page-link.ts';
import { filterText } from '../../provider/reference-data.ts';
import { readSchemaText } from '../../records/avro/schema-files.ts';
import type { DecodedEvent } from '../../records/decoding/event-decoder.ts';
import { type FollowerOffset, readFollowerOffset } from '../stream/committed-stream.ts';
import { eventHeaders } from '../tasks/instrument-records.ts';
import { followerNotification } from '../tasks/notification-texts.ts';
import { eventsReport } from '../tasks/response-report.ts';
import { instrumentDecoders, instrumentRequests } from './instrument-requests.ts';
import { itemAgain, openFollowed, type SourceKind, withSchemas } from './kind.ts';

const WORDS = {
  suspected:
    'Our offset is more than six and a half days old, by our clock or that of the provider. Events are kept for seven ' +
    'days. The source reads all events that the provider still has; dropped events are permanently lost.',
  proven: 'Events are permanently lost; the source continues with the events of a newer offset.',
  expired:
    'events of that time; no source restores them, but the walks of an instruments source bring the changed instruments',
  lost: 'events between the two offsets; no source restores them, but the walks of an instruments source bring the changed instruments',
  restart: 'The source continues with the events from now on.',
};

export const EVENTS: SourceKind<SourceSettingsOf<'events'>, FollowerOffset> = {
  connectorClass: 'EventsSource',
  walks: false,
  hidesInput: false,
  afterReset: `${WORDS.restart} Events that were not read yet are lost.`,
  offsets: { words: '<digits>-<digits>', form: EVENT_OFFSET, areOrdered: true },
  streamTopic: ({ topics }) => topics['instrument-events'],
  readOffset: (source, committed) =>
    readFollowerOffset(committed, { source: source.name, filter: filterText(source), mayLackSince: false }),
  moved: (_, offset) => offset,
  open(source, context) {
    const { topics, events } = context;
    const target = topics.named('instrument-events', source.topics['instrument-events']);
    const schemas = withSchemas(source, context, { InstrumentEvent: target }, ({ InstrumentEvent: event }, mapping) =>
      // Instruments and list rows are decoded but not written, so their schema id does not matter.
      instrumentDecoders(event, { schema: readSchemaText('Instrument'), schemaId: event.schemaId }, mapping),
    );
    const { referenceData, provider, nextOf } = instrumentRequests(source, context, schemas);
    const deadLetters = { topic: topics.shared['dead-letters'], source: source.name, targetTopic: target.name };
    const records = (rows: readonly DecodedEvent[], provenance: Readonly<Record<string, string>>): OutgoingRecord[] => {
      const headersOf = eventHeaders(provenance);
      return rows.map((event) =>
        event.kind === 'event'
          ? keyedRecord(target, event.key, event.eventValue, headersOf(event))
          : deadLetterRecord({ ...deadLetters, input: event, provenance }),
      );
    };
    return openFollowed<DecodedEvent>(source, context, {
      schemas,
      filter: filterText(source),
      begins: 'atGivenStart',
      stream: provider,
      nextOf,
      endpoint: referenceData.eventsEndpoint,
      kind: 'events',
      records,
      async reread(letter, headers, signal) {
        const { decoders } = await schemas(signal);
        return itemAgain(letter, 'events', decoders.events, (rows) => records(rows, headers));
      },
      notification: (notification) => followerNotification(source.name, notification, WORDS),
      committed: (answer, commitMs) => events.streamCommitted(eventsReport(source.name, answer, commitMs)),
    });
  },
};
