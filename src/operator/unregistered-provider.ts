import { createRecordReader, type RecordReader } from '../avro/record-reader.ts';
import { readSchemaText, type SchemaName } from '../avro/schema-files.ts';
import type { Settings, SourceSettingsOf } from '../config/settings.ts';
import type { FollowedStream } from '../connector/tasks/followed-stream.ts';
import { createInstrumentsProvider, type InstrumentsProvider } from '../connector/tasks/instruments-provider.ts';
import { followPreTradeChecks } from '../connector/tasks/pre-trade-check-stream.ts';
import type { DecodedCheck } from '../decoding/check-decoder.ts';
import { createCheckDecoder } from '../decoding/check-decoder.ts';
import { createEventDecoder } from '../decoding/event-decoder.ts';
import { createPageDecoder } from '../decoding/page-decoder.ts';
import type { HttpClient } from '../http/client.ts';
import { createPreTradeChecks, type PreTradeChecks } from '../provider/pre-trade-checks.ts';
import { createReferenceData, type ReferenceData } from '../provider/reference-data.ts';
import { type Clock, systemClock } from '../support/clock.ts';

/*
 * The provider as the sources see it, for commands that write nothing: no registry is asked for ids, and however many
 * rows do not map, they are given.
 */

// In the place of the id of a registered schema.
const NO_SCHEMA_ID = 0;
const ALL_MAY_FAIL = 1;

export interface UnregisteredOptions {
  readonly settings: Settings;
  readonly http: HttpClient;
  readonly clock?: Clock;
}

/** The instruments and events of a source, `limit` rows or events at a time. */
export function unregisteredInstruments(
  options: UnregisteredOptions,
  source: SourceSettingsOf<'instruments' | 'events'>,
  limit: number,
): { readonly referenceData: ReferenceData; readonly provider: InstrumentsProvider } {
  const { settings, http, clock = systemClock } = options;
  const schema = readSchemaText('Instrument');
  const { onMismatch } = settings.mapping;
  const mapping = { onMismatch, clock };
  const decoders = {
    pages: createPageDecoder({ ...mapping, schema, schemaId: NO_SCHEMA_ID, listKey: 'instruments' }),
    events: createEventDecoder({
      ...mapping,
      eventSchema: readSchemaText('InstrumentEvent'),
      eventSchemaId: NO_SCHEMA_ID,
      instrumentSchema: schema,
      instrumentSchemaId: NO_SCHEMA_ID,
    }),
  };
  const referenceData = createReferenceData({ http, baseUrl: settings.referenceData.url, filter: source });
  const provider = createInstrumentsProvider({
    referenceData,
    decoders: async () => decoders,
    limit,
    maxEvents: limit,
    maxDeadLetters: ALL_MAY_FAIL,
    clock,
  });
  return { referenceData, provider };
}

/** The pre-trade checks. */
export function unregisteredChecks({ settings, http, clock = systemClock }: UnregisteredOptions): {
  readonly preTradeChecks: PreTradeChecks;
  readonly stream: FollowedStream<DecodedCheck>;
} {
  const preTradeChecks = createPreTradeChecks({ http, baseUrl: settings.referenceData.url });
  const { onMismatch } = settings.mapping;
  const schema = readSchemaText('PreTradeCheck');
  const decoder = createCheckDecoder({ schema, schemaId: NO_SCHEMA_ID, onMismatch, clock });
  const stream = followPreTradeChecks({
    preTradeChecks,
    decoder: async () => decoder,
    maxDeadLetters: ALL_MAY_FAIL,
    clock,
  });
  return { preTradeChecks, stream };
}

/** Reads the values that were made so. */
export function unregisteredReader(name: SchemaName): RecordReader {
  return createRecordReader({ schemas: new Map([[NO_SCHEMA_ID, readSchemaText(name)]]) });
}
