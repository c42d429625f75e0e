// An event of the provider becomes two records: an event, and the same instrument that `page-decoder.ts` makes.

import { recordDigest } from '../avro/record-digest.ts';
import { canonicalSchema, parseSchema } from '../avro/schema.ts';
import { WIRE_HEADER_BYTES } from '../avro/wire-format.ts';
import { EVENT_KEY } from '../json/row-key.ts';
import {
  type DecodedFailure,
  type DecodedList,
  failureOf,
  type RecordOptions,
  type RowDecoder,
  tooLong,
} from './decoded-list.ts';
import { ListDecoder } from './list-decoder.ts';
import { compilePlan, memberPlan, slotOf, withoutLastFields } from './plan.ts';
import { RecordWriter } from './record-writer.ts';
import { fieldText, type RowReader } from './row-reader.ts';

export type DecodedEvent =
  | {
      readonly kind: 'event';
      readonly key: string;
      readonly id: bigint;
      readonly isin: string | null;
      readonly type: string | null;
      readonly name: string | null;
      readonly eventValue: Buffer;
      readonly instrumentValue: Buffer;
      readonly digest: bigint;
      readonly driftFields: number;
      readonly roundedNumbers: number;
    }
  | DecodedFailure;

export interface EventDecoder {
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedList<DecodedEvent>>;
}

/** `maxValueBytes` limits both records. Only the event is compared with this limit: the event is the longer record. */
export interface EventDecoderOptions extends RecordOptions {
  readonly eventSchema: string;
  readonly eventSchemaId: number;
  /** The Instrument schema as text; the event's schema contains the same definition in full. */
  readonly instrumentSchema: string;
  readonly instrumentSchemaId: number;
}

// An Avro record consists of the bytes of its fields, in order. The last field of an event is its instrument. So the
// instrument is converted once, and its bytes are copied to the end of the event.
export function createEventDecoder(options: EventDecoderOptions): EventDecoder {
  assertInstrumentIsLast(options);
  const plan = compilePlan(parseSchema(options.eventSchema));
  const head = withoutLastFields(plan, 1);
  const instrument = memberPlan(plan, 'instrument');
  const slot = slotOf(plan, 'instrument');
  const rowDecoder = (reader: RowReader): RowDecoder<DecodedEvent, null> => {
    const instruments = new RecordWriter(reader, options.instrumentSchemaId, options);
    const heads = new RecordWriter(reader, options.eventSchemaId, options);
    return (start, end) => {
      const note = reader.noteOf(0, slot);
      const id = note === 0 ? null : reader.longOf(instrument, note, 'id');
      const key = id === null ? null : String(id);
      const instrumentValue = note === 0 ? null : instruments.write(instrument, note, end - start);
      if (note > 0 && instrumentValue === null) {
        const { pointer, reason, tooLarge } = instruments.mismatches;
        return failureOf(key, { pointer: `/instrument${pointer}`, reason, tooLarge }, reader.copy(start, end));
      }
      const tail = instrumentValue === null ? EMPTY : behindHead(instrumentValue);
      const eventValue = heads.write(head, 0, end - start, tail);
      const flaw = eventValue === null ? heads.mismatches : tooLong(eventValue, options);
      if (eventValue === null || instrumentValue === null || flaw !== null) {
        return failureOf(key, flaw ?? heads.mismatches, reader.copy(start, end));
      }
      if (id === null || key === null) throw new Error('The Instrument schema has no field id of type long.');
      return {
        kind: 'event',
        key,
        id,
        isin: fieldText(reader, instrument, note, 'isin'),
        type: fieldText(reader, plan, 0, 'type'),
        name: fieldText(reader, instrument, note, 'name'),
        eventValue,
        instrumentValue,
        digest: recordDigest(instrumentValue),
        driftFields: instruments.extras.driftFields + heads.extras.driftFields,
        roundedNumbers: instruments.extras.roundedNumbers + heads.extras.roundedNumbers,
      };
    };
  };
  const list = new ListDecoder<DecodedEvent, null>({
    ...options,
    listKey: 'events',
    plan,
    rowDecoder,
    key: EVENT_KEY,
  });
  return { decode: (body) => list.decode(body, null) };
}

const EMPTY = Buffer.alloc(0);
const INSTRUMENT_FOLLOWS = Uint8Array.of(2);

function behindHead(instrumentValue: Buffer): Buffer {
  return Buffer.concat([INSTRUMENT_FOLLOWS, instrumentValue.subarray(WIRE_HEADER_BYTES)]);
}

function assertInstrumentIsLast({ eventSchema, instrumentSchema }: EventDecoderOptions): void {
  const last = parseSchema(eventSchema).fields.at(-1);
  const instrument = last?.node.kind === 'nullable' ? last.node.inner : null;
  const isInstrument =
    last?.name === 'instrument' &&
    instrument?.kind === 'record' &&
    canonicalSchema(instrument) === canonicalSchema(parseSchema(instrumentSchema));
  if (!isInstrument) throw new Error('The last field of an event must be the instrument, with the Instrument schema.');
}
