// The plain way from JSON to Avro, by objects. At run time `src/records/decoding` does it; this is the oracle of its tests.

import { recordDigest } from '../../src/records/avro/record-digest.ts';
import type { AvroRecord, AvroValue } from '../../src/records/avro/record-encoder.ts';
import { createRecordEncoder } from '../../src/records/avro/record-encoder.ts';
import { parseSchema } from '../../src/records/avro/schema.ts';
import type { DecodedFailure } from '../../src/records/decoding/decoded-list.ts';
import type { DecodedEvent, EventDecoder, EventDecoderOptions } from '../../src/records/decoding/event-decoder.ts';
import type { JsonValue } from '../../src/records/json/json-value.ts';
import { EVENT_KEY } from '../../src/records/json/row-key.ts';
import { createListReader } from './list-reader.ts';
import { Mapping } from './mapping.ts';

export function createEventDecoder(options: EventDecoderOptions): EventDecoder {
  const { maxValueBytes = Number.POSITIVE_INFINITY } = options;
  const mapping = new Mapping(parseSchema(options.eventSchema), options.onMismatch);
  const instruments = createRecordEncoder(options.instrumentSchema, options.instrumentSchemaId);
  const events = createRecordEncoder(options.eventSchema, options.eventSchemaId);

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
    const instrumentValue = instruments(instrument);
    const eventValue = events(record);
    if (eventValue.length > maxValueBytes) {
      return failure(id, '', `a value of ${eventValue.length} bytes; the topic takes at most ${maxValueBytes}`, true);
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

  const list = createListReader<DecodedEvent>({ listKey: 'events', key: EVENT_KEY, decodeRow: decodeEvent });
  return { decode: (body) => list.read(body) };
}

function textOrNull(value: AvroValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
