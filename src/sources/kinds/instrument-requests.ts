import type { SourceSettingsOf } from '../../config/settings.ts';
import { nextEventOffset } from '../../provider/page-link.ts';
import { createReferenceData } from '../../provider/reference-data.ts';
import { createEventDecoder } from '../../records/decoding/event-decoder.ts';
import { createPageDecoder } from '../../records/decoding/page-decoder.ts';
import { createInstrumentsProvider, type InstrumentDecoders } from '../tasks/instruments-provider.ts';
import { type Mapping, nextOfBytes, type Registered, type SourceContext } from './kind.ts';

export function instrumentDecoders(event: Registered, instrument: Registered, mapping: Mapping): InstrumentDecoders {
  return {
    pages: createPageDecoder({ ...instrument, ...mapping, listKey: 'instruments' }),
    events: createEventDecoder({
      ...mapping,
      eventSchema: event.schema,
      eventSchemaId: event.schemaId,
      instrumentSchema: instrument.schema,
      instrumentSchemaId: instrument.schemaId,
    }),
  };
}

/** Creates the requests to the instrument list and to the event stream, with the filter of a source. */
export function instrumentRequests(
  source: SourceSettingsOf<'instruments' | 'events'>,
  { settings, http, clock }: SourceContext,
  schemas: (signal: AbortSignal) => Promise<{ readonly decoders: InstrumentDecoders }>,
) {
  const baseUrl = settings.referenceData.url;
  const referenceData = createReferenceData({ http, baseUrl, filter: source });
  const provider = createInstrumentsProvider({
    referenceData,
    decoders: async (signal) => (await schemas(signal)).decoders,
    limit: source.type === 'instruments' ? source.limit : 1,
    maxEvents: source.maxEvents,
    maxDeadLetters: settings.mapping.maxDeadLetters,
    clock,
  });
  const nextOf = nextOfBytes(
    (since, consume, signal) => referenceData.events({ since: since ?? '', maxEvents: 1 }, consume, signal),
    (links) => nextEventOffset(links, baseUrl),
  );
  return { referenceData, provider, nextOf };
}
