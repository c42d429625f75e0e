// The plain way from JSON to Avro, by objects. At run time `src/decoding` does it; this is the oracle of its tests.
import type { Clock } from '../support/clock.ts';
import type { JsonValue } from './exact-json.ts';
import { createListReader, type DecodedFailure, type DecodedList } from './list-reader.ts';
import { Mapping, type OnMismatch } from './mapping.ts';
import { RecordEncoder } from './record-encoder.ts';
import { INSTRUMENT_KEY } from './row-key.ts';
import { parseSchema } from './schema.ts';

/** A row of a page: encoded, or why it could not be. */
export type DecodedRow =
  | {
      readonly kind: 'record';
      /** The id as text: the record's key. */
      readonly key: string;
      readonly id: bigint;
      readonly isin: string | null;
      /** Confluent's wire format: five bytes of header, then the Avro body. */
      readonly value: Buffer;
      /** Fields that the schema does not know, kept in extras. */
      readonly driftFields: number;
      /** Decimals that were rounded in their field and kept verbatim in extras. */
      readonly roundedNumbers: number;
    }
  | DecodedFailure;

export type DecodedPage = DecodedList<DecodedRow>;

/** From the body of an answer to records. */
export interface PageDecoder {
  /**
   * Whoever gives the body limits its size. Other work gets its turn every few milliseconds.
   * @throws ConnectorError BODY_MALFORMED when the body as a whole is not what is due; a row that does not map is a row.
   */
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedPage>;
}

export interface PageDecoderOptions {
  /** The text of the Avro schema of a row; it has a long field `id` and a string field `isin`. */
  readonly schema: string;
  /** The schema's id in the registry. */
  readonly schemaId: number;
  /** The member of the answer that holds the rows. */
  readonly listKey: string;
  readonly onMismatch: OnMismatch;
  /** The longest value, header included, that the topic takes; a longer one is a failure. No limit when absent. */
  readonly maxValueBytes?: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export function createPageDecoder(options: PageDecoderOptions): PageDecoder {
  const { listKey, clock, maxValueBytes = Number.POSITIVE_INFINITY } = options;
  const schema = parseSchema(options.schema);
  const encoder = new RecordEncoder(options.schema, options.schemaId);
  const mapping = new Mapping(schema, options.onMismatch);

  function decodeRow(row: JsonValue, raw: Buffer): DecodedRow {
    const failure = (key: string | null, pointer: string, reason: string, tooLarge = false): DecodedRow => {
      return { kind: 'failure', key, pointer, reason, tooLarge, raw: Buffer.from(raw) };
    };
    const mapped = mapping.map(row);
    if (mapped.kind === 'failure') {
      const id = mapping.readMember(row, 'id');
      return failure(typeof id === 'bigint' ? String(id) : null, mapped.pointer, mapped.reason);
    }
    const { record, driftFields, roundedNumbers } = mapped;
    const { id, isin } = record;
    if (typeof id !== 'bigint') throw new Error(`The schema ${schema.fullName} has no long field id.`);
    const key = String(id);
    const value = encoder.encode(record);
    if (value.length > maxValueBytes) {
      return failure(key, '', `a value of ${value.length} bytes where the topic takes ${maxValueBytes}`, true);
    }
    return {
      kind: 'record',
      key,
      id,
      isin: typeof isin === 'string' ? isin : null,
      value,
      driftFields,
      roundedNumbers,
    };
  }

  const list = createListReader<DecodedRow>({ listKey, clock, key: INSTRUMENT_KEY, decodeRow });
  return { decode: (body) => list.read(body) };
}
