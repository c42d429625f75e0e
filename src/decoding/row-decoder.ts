// The contract between `body-decoder.ts`, which finds the rows of any list, and the page, event, check and price decoders,
// which know what one row becomes. The former does not import the latter.
import type { DecodedFailure } from './decoded-list.ts';
import type { ValuePlan } from './plan.ts';
import type { RowReader } from './row-reader.ts';
import type { DecodingSizes } from './sizes.ts';

/** Makes rows from the notes of a reader. Each reader has one. */
export interface RowDecoder<Row, Context> {
  /** The row whose text lies from `start` to `end` of the reader's bytes, and whose note is at 0 of its tape. */
  decode(start: number, end: number, position: number, context: Context): Row | DecodedFailure;
}

export interface BodyDecoderOptions<Row, Context> {
  /** The member of the response that holds the list. */
  readonly listKey: string;
  /** What is noted of a row. */
  readonly plan: ValuePlan;
  readonly rowDecoder: (reader: RowReader) => RowDecoder<Row, Context>;
  /** The longest row that is read; 512 KiB when absent. */
  readonly longestRowBytes?: number;
  readonly sizes?: DecodingSizes;
}

/** A row that was not read: its key must still be found. */
export type SkimmedRow = { -readonly [Name in keyof DecodedFailure]: DecodedFailure[Name] };

export function skimmedRow(reason: string, raw: Buffer): SkimmedRow {
  return { kind: 'failure', key: null, pointer: '', reason, tooLarge: false, raw };
}
