import { parseSchema, type RecordNode } from '../../../src/records/avro/schema.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { createCheckDecoder } from '../../../src/records/decoding/check-decoder.ts';
import type { DecodingSizes } from '../../../src/records/decoding/decoded-list.ts';
import { createEventDecoder } from '../../../src/records/decoding/event-decoder.ts';
import { createPageDecoder } from '../../../src/records/decoding/page-decoder.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { createCheckDecoder as plainCheckDecoder } from '../../oracle/plain-check-decoder.ts';
import { createEventDecoder as plainEventDecoder } from '../../oracle/plain-event-decoder.ts';
import { createPageDecoder as plainPageDecoder } from '../../oracle/plain-page-decoder.ts';

interface Decoder {
  decode(body: AsyncIterable<Uint8Array>): Promise<object>;
}

/** The transcoder, and the plain way that is its oracle, for one kind of answer. */
export interface Pair {
  readonly listKey: string;
  readonly row: RecordNode;
  readonly plain: Decoder;
  readonly transcoder: Decoder;
  readonly sizes: DecodingSizes;
}

// From sizes at which every value is cut, to the usual ones.
export const ALL_SIZES: readonly DecodingSizes[] = [
  { piece: 1, buffer: 1, slab: 1 },
  { piece: 7, buffer: 64, slab: 300 },
  { piece: 300, buffer: 300, slab: 4_096 },
  { piece: 32_768, buffer: 131_072, slab: 262_144 },
];
// So that some values are too long.
const MAX_VALUE_BYTES = 3_000;

export function decoderPairs(): readonly Pair[] {
  const [instrument, event, check] = ['Instrument', 'InstrumentEvent', 'PreTradeCheck'] as const;
  const [instrumentSchema, eventSchema, checkSchema] = [instrument, event, check].map((name) => readSchemaText(name));
  if (instrumentSchema === undefined || eventSchema === undefined || checkSchema === undefined) throw new Error();
  return (['deadLetter', 'keepInExtras'] as const).flatMap((onMismatch) =>
    ALL_SIZES.flatMap((sizes) => {
      const common = { onMismatch, maxValueBytes: MAX_VALUE_BYTES, clock: systemClock };
      const page = { ...common, schema: instrumentSchema, schemaId: 7, listKey: 'instruments' };
      const events = { ...common, eventSchema, eventSchemaId: 8, instrumentSchema, instrumentSchemaId: 7 };
      const checks = { ...common, schema: checkSchema, schemaId: 9 };
      return [
        {
          listKey: 'instruments',
          row: parseSchema(instrumentSchema),
          plain: plainPageDecoder(page),
          transcoder: createPageDecoder({ ...page, sizes }),
          sizes,
        },
        {
          listKey: 'events',
          row: parseSchema(eventSchema),
          plain: plainEventDecoder(events),
          transcoder: createEventDecoder({ ...events, sizes }),
          sizes,
        },
        {
          listKey: 'preTradeChecks',
          row: parseSchema(checkSchema),
          plain: plainCheckDecoder(checks),
          transcoder: createCheckDecoder({ ...checks, sizes }),
          sizes,
        },
      ];
    }),
  );
}
