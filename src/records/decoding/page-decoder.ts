// Decodes a page of the list of instruments. This is the simplest of the four decoders: read this file first.

import { parseSchema } from '../avro/schema.ts';
import { INSTRUMENT_KEY } from '../json/row-key.ts';
import {
  type DecodedFailure,
  type DecodedList,
  type DecodedRecord,
  failureOf,
  type RecordOptions,
  type RowDecoder,
  tooLong,
} from './decoded-list.ts';
import { ListDecoder } from './list-decoder.ts';
import { compilePlan } from './plan.ts';
import { RecordWriter } from './record-writer.ts';
import { fieldText, type RowReader } from './row-reader.ts';

export type DecodedRow = (DecodedRecord & { readonly id: bigint }) | DecodedFailure;

export type DecodedPage = DecodedList<DecodedRow>;

export interface PageDecoder {
  /** Rejects with BODY_MALFORMED if the whole body is unusable. A row that cannot be decoded becomes a failure. */
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedPage>;
}

export interface PageDecoderOptions extends RecordOptions {
  /** The Avro schema of a row as text; the schema has a long field `id` and a string field `isin`. */
  readonly schema: string;
  readonly schemaId: number;
  readonly listKey: string;
}

export function createPageDecoder(options: PageDecoderOptions): PageDecoder {
  const plan = compilePlan(parseSchema(options.schema));
  const rowDecoder = (reader: RowReader): RowDecoder<DecodedRow, null> => {
    const writer = new RecordWriter(reader, options.schemaId, options);
    return (start, end) => {
      const value = writer.write(plan, 0, end - start);
      const id = reader.longOf(plan, 0, 'id');
      const key = id === null ? null : String(id);
      const flaw = value === null ? writer.mismatches : tooLong(value, options);
      if (value === null || flaw !== null) return failureOf(key, flaw ?? writer.mismatches, reader.copy(start, end));
      if (id === null || key === null) throw new Error('The schema has no field id of type long.');
      const { driftFields, roundedNumbers } = writer.extras;
      const isin = fieldText(reader, plan, 0, 'isin');
      return { kind: 'record', key, id, isin, value, driftFields, roundedNumbers };
    };
  };
  const list = new ListDecoder<DecodedRow, null>({ ...options, plan, rowDecoder, key: INSTRUMENT_KEY });
  return { decode: (body) => list.decode(body, null) };
}
