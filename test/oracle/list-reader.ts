// The plain way from JSON to Avro, by objects. At run time `src/records/decoding` does it; this is the oracle of its tests.
import { isUtf8 } from 'node:buffer';
import { ConnectorError } from '../../src/errors.ts';
import { type BodyChunks, collectBytes } from '../../src/provider/http/body-chunks.ts';
import type { DecodedFailure, DecodedList } from '../../src/records/decoding/decoded-list.ts';
import { DEEPEST_NESTING } from '../../src/records/json/json-scanner.ts';
import { describeJson, type JsonValue } from '../../src/records/json/json-value.ts';
import { type RowKey, skimKey, skipValue } from '../../src/records/json/row-key.ts';
import { JsonReader, NESTED_TOO_DEEP, TOO_LONG } from './json-reader.ts';

/** From the body of an answer to rows, one element of its list at a time. */
export interface ListReader<Row> {
  /** @throws ConnectorError BODY_MALFORMED when the body as a whole is not what was expected. */
  read(body: AsyncIterable<Uint8Array>): Promise<DecodedList<Row | DecodedFailure>>;
}

export interface ListReaderOptions<Row> {
  /** The member of the answer that holds the list. */
  readonly listKey: string;
  /** Where a row's key stands, for rows that are not decoded; null where rows have none. */
  readonly key: RowKey | null;
  /** The longest element that is read; 512 KiB when absent. */
  readonly longestRowBytes?: number;
  /**
   * What the element at a position gives. `raw` is a view of its bytes within the body: a caller that keeps it makes a copy.
   */
  readonly decodeRow: (element: JsonValue, raw: Buffer, position: number) => Row;
}

const LONGEST_VALUE_BYTES = 512 * 1024;
// The largest page that was ever asked for has 1,000.
const MOST_ROWS = 100_000;

export function createListReader<Row>(options: ListReaderOptions<Row>): ListReader<Row> {
  const { listKey, key: rowKey, longestRowBytes = LONGEST_VALUE_BYTES, decodeRow } = options;

  function readRows(reader: JsonReader, bytes: Buffer): (Row | DecodedFailure)[] {
    if (reader.peek() !== 0x5b) {
      throw malformed(`has ${describeJson(readMember(reader))} as "${listKey}"; expected an array`);
    }
    const rows: (Row | DecodedFailure)[] = [];
    reader.openArray();
    for (let first = true; reader.nextElement(first); first = false) {
      if (rows.length === MOST_ROWS) throw malformed(`has more than ${MOST_ROWS} rows in "${listKey}"`);
      rows.push(readRow(reader, bytes, rows.length));
    }
    return rows;
  }

  function readRow(reader: JsonReader, bytes: Buffer, position: number): Row | DecodedFailure {
    reader.peek();
    const { position: start, duplicateKeys } = reader;
    const unread = (reason: string, tooLarge = false): DecodedFailure => {
      const end = reader.position;
      const key = rowKey === null ? null : resultOf(skimKey(bytes, [start, end], rowKey));
      return { kind: 'failure', key, pointer: '', reason, tooLarge, raw: Buffer.from(bytes.subarray(start, end)) };
    };
    const value = reader.readBounded(2, longestRowBytes);
    if (value === TOO_LONG || value === NESTED_TOO_DEEP) {
      reader.position = resultOf(skipValue(bytes, start, bytes.length - 1));
      const long = `a row of ${reader.position - start} bytes; at most ${longestRowBytes} are read`;
      return value === TOO_LONG ? unread(long, true) : unread(`nesting deeper than ${DEEPEST_NESTING}`);
    }
    const raw = bytes.subarray(start, reader.position);
    if (isUtf8(raw)) return decodeRow(value, raw, position);
    reader.duplicateKeys = duplicateKeys;
    return unread('a byte that is not UTF-8');
  }

  return {
    async read(body) {
      const bytes = await collectJson(body);
      const reader = new JsonReader(bytes);
      const envelope = new Map<string, JsonValue>();
      let rows: readonly (Row | DecodedFailure)[] | null = null;
      let duplicateKeys = 0;
      reader.openObject();
      let memberAt = reader.position;
      for (let key = reader.nextKey(true); key !== null; key = reader.nextKey(false)) {
        if (key === listKey ? rows !== null : envelope.has(key)) duplicateKeys += 1;
        if (key === listKey) rows = readRows(reader, bytes);
        else {
          envelope.set(key, readMember(reader));
          reader.assertUtf8(memberAt);
        }
        memberAt = reader.position;
      }
      reader.finish();
      if (rows === null) throw malformed(`has no "${listKey}"`);
      return { rows, envelope, bytes: bytes.length - 1, duplicateKeys: duplicateKeys + reader.duplicateKeys };
    },
  };
}

/** An error for a body that is JSON but not what is expected; `what` never quotes a value. */
function malformed(what: string): ConnectorError {
  return new ConnectorError('BODY_MALFORMED', `The body is JSON that ${what}. Nothing was written.`);
}

function readMember(reader: JsonReader): JsonValue {
  const value = reader.readBounded(1, LONGEST_VALUE_BYTES);
  const where = 'in a member beside the list';
  if (value === TOO_LONG) throw malformed(`has more than ${LONGEST_VALUE_BYTES} bytes ${where}`);
  if (value === NESTED_TOO_DEEP) throw malformed(`has nesting deeper than ${DEEPEST_NESTING} ${where}`);
  return value;
}

function resultOf<T>(steps: Generator<void, T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

/** A body as JsonReader needs it: whole, with a zero byte behind the text. */
async function collectJson(body: BodyChunks): Promise<Buffer> {
  return Buffer.concat([await collectBytes(body), Uint8Array.of(0)]);
}
