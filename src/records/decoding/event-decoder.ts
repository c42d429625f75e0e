// Makes two records from an event: the event, and the instrument that it carries. The instrument is converted once,
// into the bytes that `page-decoder.ts` gives.

import type { Clock } from '../../support/clock.ts';
import { recordDigest } from '../avro/record-digest.ts';
import { canonicalSchema, parseSchema } from '../avro/schema.ts';
import { WIRE_HEADER_BYTES } from '../avro/wire-format.ts';
import { EVENT_KEY } from '../json/row-key.ts';
import {
  type DecodedFailure,
  type DecodedList,
  type DecodingSizes,
  type OnMismatch,
  type RowDecoder,
  USUAL_SIZES,
} from './decoded-list.ts';
import { ListDecoder } from './list-decoder.ts';
import { compilePlan, memberPlan, slotOf, type ValuePlan, withoutLastFields } from './plan.ts';
import { RecordWriter } from './record-writer.ts';
import { fieldText, type RowReader } from './row-reader.ts';

export type DecodedEvent =
  | {
      readonly kind: 'event';
      /** The id of the instrument as text: the key of both records. */
      readonly key: string;
      readonly id: bigint;
      readonly isin: string | null;
      readonly type: string | null;
      readonly name: string | null;
      readonly eventValue: Buffer;
      /** The Instrument in Confluent's wire format: the bytes that a page gives for the same instrument. */
      readonly instrumentValue: Buffer;
      readonly digest: bigint;
      readonly driftFields: number;
      readonly roundedNumbers: number;
    }
  | DecodedFailure;

/** From the body of an events response to records. An event is taken whole or not at all. */
export interface EventDecoder {
  /** @throws ConnectorError BODY_MALFORMED when the body as a whole is not what was expected. */
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedList<DecodedEvent>>;
}

export interface EventDecoderOptions {
  readonly eventSchema: string;
  readonly eventSchemaId: number;
  /** The text of the schema Instrument, which the one of the event has written out in it. */
  readonly instrumentSchema: string;
  readonly instrumentSchemaId: number;
  readonly onMismatch: OnMismatch;
  /** The longest value that both topics take; the event's value is the longer one, and a failure when it is longer. */
  readonly maxValueBytes?: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

type Options = EventDecoderOptions & { readonly sizes?: DecodingSizes };

export function createEventDecoder(options: Options): EventDecoder {
  const { clock, sizes = USUAL_SIZES } = options;
  const plan = compilePlan(parseSchema(options.eventSchema));
  assertInstrumentIsLast(options);
  const rowDecoder = (reader: RowReader) => new Events(plan, reader, options, sizes);
  const list = new ListDecoder<DecodedEvent, null>({
    listKey: 'events',
    plan,
    rowDecoder,
    key: EVENT_KEY,
    clock,
    sizes,
  });
  return { decode: (body) => list.decode(body, null) };
}

// A record is the bytes of its fields one after the other. So the bytes of the instrument's own record are copied
// behind the fields before it, and the instrument is converted once.
class Events implements RowDecoder<DecodedEvent, null> {
  readonly #plan: ValuePlan;
  readonly #head: ValuePlan;
  readonly #instrument: ValuePlan;
  readonly #reader: RowReader;
  readonly #instruments: RecordWriter;
  readonly #heads: RecordWriter;
  readonly #maxValueBytes: number;

  constructor(plan: ValuePlan, reader: RowReader, options: EventDecoderOptions, sizes: DecodingSizes) {
    const { onMismatch, maxValueBytes = Number.POSITIVE_INFINITY } = options;
    const common = { reader, keepMismatches: onMismatch === 'keepInExtras', slabBytes: sizes.slab };
    this.#plan = plan;
    this.#head = withoutLastFields(plan, 1);
    this.#instrument = memberPlan(plan, 'instrument');
    this.#reader = reader;
    this.#instruments = new RecordWriter({ ...common, schemaId: options.instrumentSchemaId });
    this.#heads = new RecordWriter({ ...common, schemaId: options.eventSchemaId });
    this.#maxValueBytes = maxValueBytes;
  }

  decode(start: number, end: number): DecodedEvent {
    const [reader, instruments, heads] = [this.#reader, this.#instruments, this.#heads];
    const note = reader.noteOf(0, slotOf(this.#plan, 'instrument'));
    const id = note === 0 ? null : reader.longOf(this.#instrument, note, 'id');
    const key = id === null ? null : String(id);
    const failure = (pointer: string, reason: string, tooLarge = false): DecodedEvent => {
      return {
        kind: 'failure',
        key,
        pointer,
        reason,
        tooLarge,
        raw: Buffer.from(reader.json.bytes.subarray(start, end)),
      };
    };
    const instrumentValue = note === 0 ? null : instruments.write(this.#instrument, note, end - start);
    if (note > 0 && instrumentValue === null)
      return failure(`/instrument${instruments.mismatches.pointer}`, instruments.mismatches.reason);
    const tail = instrumentValue === null ? EMPTY : behindHead(instrumentValue);
    const eventValue = heads.write(this.#head, 0, end - start, tail);
    if (eventValue === null || instrumentValue === null)
      return failure(heads.mismatches.pointer, heads.mismatches.reason);
    if (id === null || key === null) throw new Error('The schema of instruments has no long field id.');
    if (eventValue.length > this.#maxValueBytes) {
      return failure('', `a value of ${eventValue.length} bytes; the topic takes at most ${this.#maxValueBytes}`, true);
    }
    return {
      kind: 'event',
      key,
      id,
      isin: fieldText(reader, this.#instrument, note, 'isin'),
      type: fieldText(reader, this.#plan, 0, 'type'),
      name: fieldText(reader, this.#instrument, note, 'name'),
      eventValue,
      instrumentValue,
      digest: recordDigest(instrumentValue),
      driftFields: instruments.extras.driftFields + heads.extras.driftFields,
      roundedNumbers: instruments.extras.roundedNumbers + heads.extras.roundedNumbers,
    };
  }
}

const EMPTY = Buffer.alloc(0);
// In the union of null and an instrument: the second.
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
  if (!isInstrument) throw new Error('The last field of an event is the instrument, by the schema of instruments.');
}
