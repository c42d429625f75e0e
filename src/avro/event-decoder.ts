// The plain way from JSON to Avro, by objects. At run time `src/decoding` does it; this is the oracle of its tests.
import type { Clock } from '../support/clock.ts';
import type { AvroRecord, AvroValue } from './avro-value.ts';
import type { JsonValue } from './exact-json.ts';
import { createListReader, type DecodedFailure, type DecodedList } from './list-reader.ts';
import { Mapping, type OnMismatch } from './mapping.ts';
import { recordDigest } from './record-digest.ts';
import { RecordEncoder } from './record-encoder.ts';
import { EVENT_KEY } from './row-key.ts';
import { parseSchema } from './schema.ts';
import { canonicalSchema } from './schema-canonical.ts';
import { WIRE_HEADER_BYTES } from './wire-format.ts';

/** An event of the stream: encoded twice, as itself and as the instrument that it carries, or why it could not be. */
export type DecodedEvent =
  | {
      readonly kind: 'event';
      /** The id of the instrument as text: the key of both records. */
      readonly key: string;
      readonly id: bigint;
      readonly isin: string | null;
      /** What happened; null when it was not sent. */
      readonly type: string | null;
      /** The name of the instrument. */
      readonly name: string | null;
      /** The InstrumentEvent in Confluent's wire format. */
      readonly eventValue: Buffer;
      /** The Instrument in Confluent's wire format: the bytes that a page gives for the same instrument. */
      readonly instrumentValue: Buffer;
      /** Of the instrument's value, as `recordDigest` gives it. */
      readonly digest: bigint;
      /** Fields that the schemas do not know, kept in extras. */
      readonly driftFields: number;
      /** Decimals that were rounded in their field and kept verbatim in extras. */
      readonly roundedNumbers: number;
    }
  | DecodedFailure;

/** From the body of an events answer to records. An event is taken whole or not at all. */
export interface EventDecoder {
  /** @throws ConnectorError BODY_MALFORMED when the body as a whole is not what is due. */
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedList<DecodedEvent>>;
}

export interface EventDecoderOptions {
  /** The text of the schema InstrumentEvent. */
  readonly eventSchema: string;
  /** Its id in the registry. */
  readonly eventSchemaId: number;
  /** The text of the schema Instrument, which the one of the event has written out in it. */
  readonly instrumentSchema: string;
  readonly instrumentSchemaId: number;
  readonly onMismatch: OnMismatch;
  /** The longest value that both topics take; when the event's, the longer one, is beyond, it is a failure. */
  readonly maxValueBytes?: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

// In the union of null and an instrument: the second.
const INSTRUMENT_FOLLOWS = Uint8Array.of(2);

export function createEventDecoder(options: EventDecoderOptions): EventDecoder {
  const { clock, maxValueBytes = Number.POSITIVE_INFINITY } = options;
  const mapping = new Mapping(parseSchema(options.eventSchema), options.onMismatch);
  const instruments = new RecordEncoder(options.instrumentSchema, options.instrumentSchemaId);
  const heads = new RecordEncoder(headSchema(options.eventSchema, options.instrumentSchema), options.eventSchemaId);

  function decodeEvent(event: JsonValue, raw: Buffer): DecodedEvent {
    const failure = (id: AvroValue, pointer: string, reason: string, tooLarge = false): DecodedFailure => {
      return {
        kind: 'failure',
        key: typeof id === 'bigint' ? String(id) : null,
        pointer,
        reason,
        tooLarge,
        raw: Buffer.from(raw),
      };
    };
    const mapped = mapping.map(event);
    if (mapped.kind === 'failure') {
      return failure(mapping.readMember(event, 'instrument', 'id'), mapped.pointer, mapped.reason);
    }
    const { record, driftFields, roundedNumbers } = mapped;
    const instrument = record.instrument as AvroRecord;
    const id = record.id as bigint;
    const instrumentValue = instruments.encode(instrument);
    const body = instrumentValue.subarray(WIRE_HEADER_BYTES);
    const eventValue = Buffer.concat([heads.encode(record), INSTRUMENT_FOLLOWS, body]);
    if (eventValue.length > maxValueBytes) {
      return failure(id, '', `a value of ${eventValue.length} bytes where the topic takes ${maxValueBytes}`, true);
    }
    return {
      kind: 'event',
      key: String(id),
      id,
      isin: textOrNull(instrument.isin),
      type: textOrNull(record.type),
      name: textOrNull(instrument.name),
      eventValue,
      instrumentValue,
      digest: recordDigest(instrumentValue),
      driftFields,
      roundedNumbers,
    };
  }

  const list = createListReader<DecodedEvent>({ listKey: 'events', clock, key: EVENT_KEY, decodeRow: decodeEvent });
  return { decode: (body) => list.read(body) };
}

/**
 * The event's schema without its instrument. A record is the bytes of its fields one after the other, so the bytes of
 * the instrument's own record, put behind those of this schema, make the whole event; nothing is encoded twice.
 */
function headSchema(eventSchema: string, instrumentSchema: string): string {
  const { fields, ...event } = JSON.parse(eventSchema) as { readonly fields: readonly unknown[] };
  const last = parseSchema(eventSchema).fields.at(-1);
  const instrument = last?.node.kind === 'nullable' ? last.node.inner : null;
  const isInstrument =
    last?.name === 'instrument' &&
    instrument?.kind === 'record' &&
    canonicalSchema(instrument) === canonicalSchema(parseSchema(instrumentSchema));
  if (!isInstrument) throw new Error('The last field of an event is the instrument, by the schema of instruments.');
  return JSON.stringify({ ...event, fields: fields.slice(0, -1) });
}

function textOrNull(value: AvroValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
