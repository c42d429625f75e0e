// Makes the record of one instrument from a row of a page. The simplest of the four decoders: read it first. A row that
// fails keeps its bytes for the dead letter.

import type { Clock } from '../../support/clock.ts';
import { parseSchema } from '../avro/schema.ts';
import { INSTRUMENT_KEY } from '../json/row-key.ts';
import {
  type DecodedFailure,
  type DecodedList,
  type DecodingSizes,
  type OnMismatch,
  type RowDecoder,
  USUAL_SIZES,
} from './decoded-list.ts';
import { ListDecoder } from './list-decoder.ts';
import { compilePlan, type ValuePlan } from './plan.ts';
import { RecordWriter } from './record-writer.ts';
import { fieldText, type RowReader } from './row-reader.ts';

export type DecodedRow =
  | {
      readonly kind: 'record';
      readonly key: string;
      readonly id: bigint;
      readonly isin: string | null;
      /** Confluent's wire format: five bytes of header, then the Avro body. */
      readonly value: Buffer;
      readonly driftFields: number;
      readonly roundedNumbers: number;
    }
  | DecodedFailure;

export type DecodedPage = DecodedList<DecodedRow>;

export interface PageDecoder {
  /**
   * The caller limits the size of the body. Other work gets its turn every few milliseconds.
   * @throws ConnectorError BODY_MALFORMED when the body as a whole is not what was expected; a row that does not map is
   * part of the result.
   */
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedPage>;
}

export interface PageDecoderOptions {
  /** The text of the Avro schema of a row; it has a long field `id` and a string field `isin`. */
  readonly schema: string;
  readonly schemaId: number;
  readonly listKey: string;
  readonly onMismatch: OnMismatch;
  /** The longest value, header included, that the topic takes; a longer one is a failure. No limit when absent. */
  readonly maxValueBytes?: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export function createPageDecoder(options: PageDecoderOptions & { readonly sizes?: DecodingSizes }): PageDecoder {
  const { listKey, clock, sizes = USUAL_SIZES } = options;
  const plan = compilePlan(parseSchema(options.schema));
  const rowDecoder = (reader: RowReader) => new InstrumentRows(plan, reader, options, sizes);
  const list = new ListDecoder<DecodedRow, null>({ listKey, plan, rowDecoder, key: INSTRUMENT_KEY, clock, sizes });
  return { decode: (body): Promise<DecodedPage> => list.decode(body, null) };
}

class InstrumentRows implements RowDecoder<DecodedRow, null> {
  readonly #plan: ValuePlan;
  readonly #reader: RowReader;
  readonly #writer: RecordWriter;
  readonly #maxValueBytes: number;

  constructor(plan: ValuePlan, reader: RowReader, options: PageDecoderOptions, sizes: DecodingSizes) {
    const { schemaId, onMismatch, maxValueBytes = Number.POSITIVE_INFINITY } = options;
    const keepMismatches = onMismatch === 'keepInExtras';
    this.#plan = plan;
    this.#reader = reader;
    this.#writer = new RecordWriter({ reader, schemaId, keepMismatches, slabBytes: sizes.slab });
    this.#maxValueBytes = maxValueBytes;
  }

  decode(start: number, end: number): DecodedRow {
    const writer = this.#writer;
    const value = writer.write(this.#plan, 0, end - start);
    const id = this.#reader.longOf(this.#plan, 0, 'id');
    const key = id === null ? null : String(id);
    const failure = (pointer: string, reason: string, tooLarge: boolean): DecodedRow => {
      return {
        kind: 'failure',
        key,
        pointer,
        reason,
        tooLarge,
        raw: Buffer.from(this.#reader.json.bytes.subarray(start, end)),
      };
    };
    if (value === null) return failure(writer.mismatches.pointer, writer.mismatches.reason, false);
    if (id === null || key === null) throw new Error('The schema has no long field id.');
    if (value.length > this.#maxValueBytes) {
      return failure('', `a value of ${value.length} bytes; the topic takes at most ${this.#maxValueBytes}`, true);
    }
    const { driftFields, roundedNumbers } = writer.extras;
    return {
      kind: 'record',
      key,
      id,
      isin: fieldText(this.#reader, this.#plan, 0, 'isin'),
      value,
      driftFields,
      roundedNumbers,
    };
  }
}
