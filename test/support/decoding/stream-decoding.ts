import { createRecordReader } from '../../../src/records/avro/record-reader.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import type { CheckDecoderOptions } from '../../../src/records/decoding/check-decoder.ts';
import { createCheckDecoder } from '../../../src/records/decoding/check-decoder.ts';
import type { DecodedEvent, EventDecoderOptions } from '../../../src/records/decoding/event-decoder.ts';
import { createEventDecoder } from '../../../src/records/decoding/event-decoder.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { chunked, SCHEMA_ID } from './avro-decoding.ts';

const EVENT_SCHEMA_ID = 8;
const CHECK_SCHEMA_ID = 9;
export const NOTIFICATION_SCHEMA_ID = 10;

export const reader = createRecordReader({
  schemas: new Map([
    [SCHEMA_ID, readSchemaText('Instrument')],
    [EVENT_SCHEMA_ID, readSchemaText('InstrumentEvent')],
    [CHECK_SCHEMA_ID, readSchemaText('PreTradeCheck')],
    [NOTIFICATION_SCHEMA_ID, readSchemaText('Notification')],
  ]),
});

export function eventDecoder(options: Partial<EventDecoderOptions> = {}) {
  return createEventDecoder({
    eventSchema: readSchemaText('InstrumentEvent'),
    eventSchemaId: EVENT_SCHEMA_ID,
    instrumentSchema: readSchemaText('Instrument'),
    instrumentSchemaId: SCHEMA_ID,
    onMismatch: 'deadLetter',
    clock: systemClock,
    ...options,
  });
}

export async function decodeEvents(
  events: readonly string[],
  options: Partial<EventDecoderOptions> = {},
): Promise<readonly DecodedEvent[]> {
  const body = `{"nextId":"1-0","events":[${events.join(',')}],"links":{"next":"/e?since=1-0"}}`;
  return (await eventDecoder(options).decode(chunked(body))).rows;
}

export function checkDecoder(options: Partial<CheckDecoderOptions> = {}) {
  return createCheckDecoder({
    schema: readSchemaText('PreTradeCheck'),
    schemaId: CHECK_SCHEMA_ID,
    onMismatch: 'deadLetter',
    clock: systemClock,
    ...options,
  });
}
