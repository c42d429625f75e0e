import type { JsonValue } from '../json/json-value.ts';
import type { ValuePlan } from './plan.ts';
import type { RowReader } from './row-reader.ts';

export interface DecodedFailure {
  readonly kind: 'failure';
  /** The key that its record would have had; null when it cannot be read. */
  readonly key: string | null;
  /** A JSON pointer from the element, in the schema's spelling: /issuePrice. */
  readonly pointer: string;
  readonly reason: string;
  /** Its size is the reason; otherwise its content does not fit the schema. */
  readonly tooLarge: boolean;
  readonly raw: Buffer;
}

export interface DecodedList<Row> {
  readonly rows: readonly Row[];
  /** Every other member of the response: links, nextId and so on. */
  readonly envelope: ReadonlyMap<string, JsonValue>;
  readonly bytes: number;
  /** Keys that appeared again in their object; the last one counts. */
  readonly duplicateKeys: number;
}

/** A field of the wrong type makes its record a dead letter, or becomes null and is kept in extras. */
export type OnMismatch = 'deadLetter' | 'keepInExtras';

// How large the pieces and buffers of decoding are. They are one value that is passed in, so that a short body of a
// test can span many pieces and slabs.

export interface DecodingSizes {
  /** Input is taken in pieces of this size: other work gets its turn between them. */
  readonly piece: number;
  readonly buffer: number;
  readonly slab: number;
}

export const USUAL_SIZES: DecodingSizes = { piece: 32 * 1024, buffer: 128 * 1024, slab: 256 * 1024 };

// The contract between `list-decoder.ts`, which finds the rows, and the decoders, which know what a row becomes.

export interface RowDecoder<Row, Context> {
  /** The row whose text lies from `start` to `end` of the reader's bytes, and whose note is at 0 of its tape. */
  decode(start: number, end: number, position: number, context: Context): Row | DecodedFailure;
}

export interface BodyDecoderOptions<Row, Context> {
  readonly listKey: string;
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
