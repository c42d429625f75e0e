import type { Clock } from '../../support/clock.ts';
import type { JsonValue } from '../json/json-value.ts';

export interface DecodedFailure {
  readonly kind: 'failure';
  /** The key that its record would have had; null when it cannot be read. */
  readonly key: string | null;
  /** A JSON pointer from the element, in the schema's spelling: /issuePrice. */
  readonly pointer: string;
  readonly reason: string;
  /** The size is the reason, not the content. */
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

// Sizes are passed in, so that a short body of a test spans many pieces and slabs.

export interface DecodingSizes {
  /** Input is taken in pieces of this size: other work gets its turn between them. */
  readonly piece: number;
  readonly buffer: number;
  readonly slab: number;
}

export const USUAL_SIZES: DecodingSizes = { piece: 32 * 1024, buffer: 128 * 1024, slab: 256 * 1024 };

export interface RecordOptions {
  readonly onMismatch: OnMismatch;
  /** The longest value, header included, that the topic takes; a longer one is a failure. No limit when absent. */
  readonly maxValueBytes?: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly sizes?: DecodingSizes;
}

/** Makes a row of the text from `start` to `end` of the reader's bytes, whose note is at 0 of its tape. */
export type RowDecoder<Row, Context> = (start: number, end: number, position: number, context: Context) => Row;

/** Why a row is a failure; the pointer is empty for the row as a whole. */
export type Flaw = Pick<DecodedFailure, 'pointer' | 'reason' | 'tooLarge'>;

export function failureOf(key: string | null, { pointer, reason, tooLarge }: Flaw, raw: Buffer): DecodedFailure {
  return { kind: 'failure', key, pointer, reason, tooLarge, raw };
}

export function tooLong(value: Buffer, { maxValueBytes = Number.POSITIVE_INFINITY }: RecordOptions): Flaw | null {
  if (value.length <= maxValueBytes) return null;
  const reason = `a value of ${value.length} bytes; the topic takes at most ${maxValueBytes}`;
  return { pointer: '', reason, tooLarge: true };
}
