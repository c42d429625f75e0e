import type { Clock } from '../../support/clock.ts';
import type { JsonValue } from '../json/json-value.ts';

export interface DecodedFailure {
  readonly kind: 'failure';
  /** The key of the row; null if the key cannot be read. */
  readonly key: string | null;
  /** A JSON pointer from the row to the wrong field, in the schema's spelling: /issuePrice. */
  readonly pointer: string;
  readonly reason: string;
  /** True if the size is the reason, false if the content is the reason. */
  readonly tooLarge: boolean;
  readonly raw: Buffer;
}

/** A row as an Avro record in the wire format. */
export interface DecodedRecord {
  readonly kind: 'record';
  readonly key: string;
  readonly isin: string | null;
  readonly value: Buffer;
  readonly driftFields: number;
  readonly roundedNumbers: number;
}

export interface DecodedList<Row> {
  readonly rows: readonly Row[];
  /** All other members of the response: links, nextId and so on. */
  readonly envelope: ReadonlyMap<string, JsonValue>;
  readonly bytes: number;
  /** The number of repeated keys in objects; the last value of a key counts. */
  readonly duplicateKeys: number;
}

/** After a wrong type, the record becomes a dead letter, or the field becomes null and extras keep the value. */
export type OnMismatch = 'deadLetter' | 'keepInExtras';

// Tests set smaller sizes, so that a short body takes many pieces, and many slabs (buffers of written records).

export interface DecodingSizes {
  /** Input is decoded in pieces of this size in bytes; other work can run between two pieces. */
  readonly piece: number;
  readonly buffer: number;
  readonly slab: number;
}

export const USUAL_SIZES: DecodingSizes = { piece: 32 * 1024, buffer: 128 * 1024, slab: 256 * 1024 };

export interface RecordOptions {
  readonly onMismatch: OnMismatch;
  /** The topic's maximum value size in bytes, header included; a longer value is a failure. Absent: no limit. */
  readonly maxValueBytes?: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly sizes?: DecodingSizes;
}

/** Decodes the row from `start` to `end`. The row's note is at 0 of the tape (`row-reader.ts` explains both). */
export type RowDecoder<Row, Context> = (start: number, end: number, position: number, context: Context) => Row;

/** The reason why a row is a failure; the pointer is empty if the reason concerns the whole row. */
export type Flaw = Pick<DecodedFailure, 'pointer' | 'reason' | 'tooLarge'>;

export function failureOf(key: string | null, { pointer, reason, tooLarge }: Flaw, raw: Buffer): DecodedFailure {
  return { kind: 'failure', key, pointer, reason, tooLarge, raw };
}

export function tooLong(value: Buffer, { maxValueBytes = Number.POSITIVE_INFINITY }: RecordOptions): Flaw | null {
  if (value.length <= maxValueBytes) return null;
  const reason = `a value of ${value.length} bytes; the topic accepts at most ${maxValueBytes}`;
  return { pointer: '', reason, tooLarge: true };
}
