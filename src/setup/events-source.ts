import { readSchemaText } from '../avro/schema-files.ts';
import type { SourceSettingsOf } from '../config/settings.ts';
import type { Source } from '../connector/offset-partition.ts';
import { createEventsTask } from '../connector/tasks/events-task.ts';
import { createInstrumentsProvider } from '../connector/tasks/instruments-provider.ts';
import { createEventDecoder } from '../decoding/event-decoder.ts';
import { createPageDecoder } from '../decoding/page-decoder.ts';
import { createReferenceData, filterText } from '../provider/reference-data.ts';
import { createFollowedSource, type FollowedSourceOptions, registeredDecoder } from './followed-source.ts';

/** An events source from its settings: everything that its task needs, put together. */
export function createEventsSource(
  options: FollowedSourceOptions & { readonly source: SourceSettingsOf<'events'> },
): Source {
  const { source, settings, topics, http, clock } = options;
  const { maxEvents } = source;
  const instrument = readSchemaText('Instrument');
  const decoders = registeredDecoder(options, 'InstrumentEvent', ({ schema, schemaId, ...mapping }) => ({
    // Only records of events are written: the decoder also gives the instrument as a record of its own, and the list row
    // that shows where the stream starts. Neither is used, so neither needs an id of the registry.
    events: createEventDecoder({
      ...mapping,
      eventSchema: schema,
      eventSchemaId: schemaId,
      instrumentSchema: instrument,
      instrumentSchemaId: schemaId,
    }),
    pages: createPageDecoder({ ...mapping, schema: instrument, schemaId, listKey: 'instruments' }),
  }));
  const referenceData = createReferenceData({ http, baseUrl: settings.referenceData.url, filter: source });
  const stream = createInstrumentsProvider({
    referenceData,
    decoders: async (signal) => (await decoders(signal)).decoder,
    limit: 1,
    maxEvents,
    maxDeadLetters: settings.mapping.maxDeadLetters,
    clock,
  });
  return createFollowedSource(options, {
    filter: filterText(source),
    begins: 'atGivenStart',
    encoder: async (signal) => (await decoders(signal)).notifications,
    startTask: (common) =>
      createEventsTask({
        ...common,
        stream,
        endpoint: referenceData.eventsEndpoint,
        instrumentEvents: topics.target,
        deadLetters: topics.deadLetters,
      }),
  });
}
