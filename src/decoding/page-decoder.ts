import type { DecodedPage, DecodedRow, PageDecoder, PageDecoderOptions } from '../avro/page-decoder.ts';
import { INSTRUMENT_KEY } from '../avro/row-key.ts';
import { parseSchema } from '../avro/schema.ts';
import type { RowDecoder } from './body-decoder.ts';
import { compilePlan } from './compile-plan.ts';
import { fieldText } from './derived-fields.ts';
import { ListDecoder } from './list-decoder.ts';
import type { Plan } from './plan.ts';
import { RecordWriter } from './record-writer.ts';
import type { RowReader } from './row-reader.ts';
import { type DecodingSizes, USUAL_SIZES } from './sizes.ts';

/** The body of a page, to records: one for each row that maps. */
export function createPageDecoder(options: PageDecoderOptions & { readonly sizes?: DecodingSizes }): PageDecoder {
  const { listKey, clock, sizes = USUAL_SIZES } = options;
  const plan = compilePlan(parseSchema(options.schema));
  const rowDecoder = (reader: RowReader) => new InstrumentRows(plan, reader, options, sizes);
  const list = new ListDecoder<DecodedRow, null>({ listKey, plan, rowDecoder, key: INSTRUMENT_KEY, clock, sizes });
  return { decode: (body): Promise<DecodedPage> => list.decode(body, null) };
}

class InstrumentRows implements RowDecoder<DecodedRow, null> {
  readonly #plan: Plan;
  readonly #reader: RowReader;
  readonly #writer: RecordWriter;
  readonly #maxValueBytes: number;

  constructor(plan: Plan, reader: RowReader, options: PageDecoderOptions, sizes: DecodingSizes) {
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
      return failure('', `a value of ${value.length} bytes where the topic takes ${this.#maxValueBytes}`, true);
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
