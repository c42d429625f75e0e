import { setImmediate as afterOtherWork } from 'node:timers/promises';
import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { JsonReader, type JsonValue } from './exact-json.ts';
import { describeJson } from './json-text.ts';
import { Mapping, type OnMismatch } from './mapping.ts';
import { RecordEncoder } from './record-encoder.ts';
import { parseSchema } from './schema.ts';
import { StringCache } from './string-cache.ts';

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
  | {
      readonly kind: 'failure';
      /** Null when the id cannot be read. */
      readonly key: string | null;
      /** A JSON pointer from the row, in the schema's spelling: /issuePrice. */
      readonly pointer: string;
      /** Never quotes a value. */
      readonly reason: string;
      /** The row's bytes as they came. */
      readonly raw: Buffer;
    };

export interface DecodedPage {
  /** In the order in which they came. */
  readonly rows: readonly DecodedRow[];
  /** Every other member of the answer: links, nextId and so on. */
  readonly envelope: ReadonlyMap<string, JsonValue>;
  /** The length of the body. */
  readonly bytes: number;
  /** Keys that appeared again in their object; the last one counts. */
  readonly duplicateKeys: number;
}

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

const LONGEST_TURN_MS = 6;

export function createPageDecoder(options: PageDecoderOptions): PageDecoder {
  const { listKey, clock, maxValueBytes = Number.POSITIVE_INFINITY } = options;
  const schema = parseSchema(options.schema);
  const encoder = new RecordEncoder(options.schema, options.schemaId);
  const mapping = new Mapping(schema, options.onMismatch);
  const strings = new StringCache();

  async function decodeRows(reader: JsonReader, bytes: Buffer): Promise<DecodedRow[]> {
    if (reader.peek() !== 0x5b) {
      throw malformed(`has ${describeJson(reader.readValue(1))} as "${listKey}" where an array is due`);
    }
    const rows: DecodedRow[] = [];
    let turnStartedMs = clock.monotonicMs();
    reader.openArray();
    for (let first = true; reader.nextElement(first); first = false) {
      reader.peek();
      const start = reader.position;
      const value = reader.readValue(2);
      rows.push(decodeRow(value, bytes, start, reader.position));
      if (clock.monotonicMs() - turnStartedMs < LONGEST_TURN_MS) continue;
      await afterOtherWork();
      turnStartedMs = clock.monotonicMs();
    }
    return rows;
  }

  function decodeRow(row: JsonValue, bytes: Buffer, start: number, end: number): DecodedRow {
    const failure = (key: string | null, pointer: string, reason: string): DecodedRow => {
      return { kind: 'failure', key, pointer, reason, raw: Buffer.from(bytes.subarray(start, end)) };
    };
    const mapped = mapping.map(row);
    if (mapped.kind === 'failure') {
      const id = mapping.readField(row, 'id');
      return failure(typeof id === 'bigint' ? String(id) : null, mapped.pointer, mapped.reason);
    }
    const { record, driftFields, roundedNumbers } = mapped;
    const { id, isin } = record;
    if (typeof id !== 'bigint') throw new Error(`The schema ${schema.fullName} has no long field id.`);
    const key = String(id);
    const value = encoder.encode(record);
    if (value.length > maxValueBytes) {
      return failure(key, '', `a value of ${value.length} bytes where the topic takes ${maxValueBytes}`);
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

  return {
    async decode(body) {
      const bytes = await collect(body);
      const reader = new JsonReader(bytes, strings);
      const envelope = new Map<string, JsonValue>();
      let rows: readonly DecodedRow[] | null = null;
      let duplicateKeys = 0;
      reader.openObject();
      for (let key = reader.nextKey(true); key !== null; key = reader.nextKey(false)) {
        if (key === listKey ? rows !== null : envelope.has(key)) duplicateKeys += 1;
        if (key === listKey) rows = await decodeRows(reader, bytes);
        else envelope.set(key, reader.readValue(1));
      }
      reader.finish();
      if (rows === null) throw malformed(`has no "${listKey}"`);
      return { rows, envelope, bytes: bytes.length - 1, duplicateKeys: duplicateKeys + reader.duplicateKeys };
    },
  };
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  // The reader wants a zero behind the text.
  return Buffer.concat([...chunks, Uint8Array.of(0)]);
}

function malformed(what: string): ConnectorError {
  return new ConnectorError('BODY_MALFORMED', `The body is a JSON object that ${what}. Nothing was written.`);
}
