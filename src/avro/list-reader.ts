import { setImmediate as afterOtherWork } from 'node:timers/promises';
import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { JsonReader, type JsonValue } from './exact-json.ts';
import { collectJson } from './json-body.ts';
import { describeJson } from './json-text.ts';
import { StringCache } from './string-cache.ts';
import { skipValue } from './value-skip.ts';

/** An element of an answer that could not become a record, and why. */
export interface DecodedFailure {
  readonly kind: 'failure';
  /** The key that its record would have had; null when it cannot be read. */
  readonly key: string | null;
  /** A JSON pointer from the element, in the schema's spelling: /issuePrice. */
  readonly pointer: string;
  /** Never quotes a value. */
  readonly reason: string;
  /** Whether its size is the reason; else something in it is not as the schema says. */
  readonly tooLarge: boolean;
  /** The element's bytes as they came. */
  readonly raw: Buffer;
}

/** What the body of an answer with a list holds. */
export interface DecodedList<Row> {
  /** In the order in which they came. */
  readonly rows: readonly Row[];
  /** Every other member of the answer: links, nextId and so on. */
  readonly envelope: ReadonlyMap<string, JsonValue>;
  /** The length of the body. */
  readonly bytes: number;
  /** Keys that appeared again in their object; the last one counts. */
  readonly duplicateKeys: number;
}

/** From the body of an answer to rows, one element of its list at a time. */
export interface ListReader<Row> {
  /** @throws ConnectorError BODY_MALFORMED when the body as a whole is not what is due. */
  read(body: AsyncIterable<Uint8Array>): Promise<DecodedList<Row | DecodedFailure>>;
  /** The value of a body that is no list; of a limited length. */
  readSingle(body: AsyncIterable<Uint8Array>): Promise<JsonValue>;
}

export interface ListReaderOptions<Row> {
  /** The member of the answer that holds the list. */
  readonly listKey: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The longest element that is read; 512 KiB when absent. */
  readonly longestRowBytes?: number;
  /**
   * What the element at a position gives. `raw` is a view of its bytes within the body: whoever keeps it makes a copy.
   */
  readonly decodeRow: (element: JsonValue, raw: Buffer, position: number) => Row;
}

const LONGEST_TURN_MS = 6;
// An instrument has some 9 KB. Reading a much longer value would hold up all other work.
const LONGEST_VALUE_BYTES = 512 * 1024;
// The largest page that was ever asked for has 1,000.
const MOST_ROWS = 100_000;

export function createListReader<Row>(options: ListReaderOptions<Row>): ListReader<Row> {
  const { listKey, clock, longestRowBytes = LONGEST_VALUE_BYTES, decodeRow } = options;
  const strings = new StringCache();

  async function readRows(reader: JsonReader, bytes: Buffer): Promise<(Row | DecodedFailure)[]> {
    if (reader.peek() !== 0x5b) {
      throw malformed(`has ${describeJson(readMember(reader))} as "${listKey}" where an array is due`);
    }
    const rows: (Row | DecodedFailure)[] = [];
    let turnStartedMs = clock.monotonicMs();
    reader.openArray();
    for (let first = true; reader.nextElement(first); first = false) {
      if (rows.length === MOST_ROWS) throw malformed(`has more than ${MOST_ROWS} rows in "${listKey}"`);
      reader.peek();
      const start = reader.position;
      const value = reader.readBounded(2, longestRowBytes);
      if (value === undefined) rows.push(await skipRow(reader, bytes, longestRowBytes));
      else rows.push(decodeRow(value, bytes.subarray(start, reader.position), rows.length));
      if (clock.monotonicMs() - turnStartedMs < LONGEST_TURN_MS) continue;
      await afterOtherWork();
      turnStartedMs = clock.monotonicMs();
    }
    return rows;
  }

  return {
    async read(body) {
      const bytes = await collectJson(body);
      const reader = new JsonReader(bytes, strings);
      const envelope = new Map<string, JsonValue>();
      let rows: readonly (Row | DecodedFailure)[] | null = null;
      let duplicateKeys = 0;
      reader.openObject();
      for (let key = reader.nextKey(true); key !== null; key = reader.nextKey(false)) {
        if (key === listKey ? rows !== null : envelope.has(key)) duplicateKeys += 1;
        if (key === listKey) rows = await readRows(reader, bytes);
        else envelope.set(key, readMember(reader));
      }
      reader.finish();
      if (rows === null) throw malformed(`has no "${listKey}"`);
      return { rows, envelope, bytes: bytes.length - 1, duplicateKeys: duplicateKeys + reader.duplicateKeys };
    },

    async readSingle(body) {
      const reader = new JsonReader(await collectJson(body), strings);
      const value = reader.readBounded(0, LONGEST_VALUE_BYTES);
      if (value === undefined) throw malformed(`has more than ${LONGEST_VALUE_BYTES} bytes`);
      reader.finish();
      return value;
    },
  };
}

/** An error for a body that is JSON but not what is due; `what` never quotes a value. */
export function malformed(what: string): ConnectorError {
  return new ConnectorError('BODY_MALFORMED', `The body is JSON that ${what}. Nothing was written.`);
}

function readMember(reader: JsonReader): JsonValue {
  const value = reader.readBounded(1, LONGEST_VALUE_BYTES);
  if (value === undefined) throw malformed(`has a member of more than ${LONGEST_VALUE_BYTES} bytes beside the list`);
  return value;
}

async function skipRow(reader: JsonReader, bytes: Buffer, longestBytes: number): Promise<DecodedFailure> {
  const start = reader.position;
  const skipping = skipValue(bytes, start, bytes.length - 1);
  let step = skipping.next();
  while (!step.done) {
    await afterOtherWork();
    step = skipping.next();
  }
  reader.position = step.value;
  const raw = Buffer.from(bytes.subarray(start, step.value));
  const reason = `a row of ${raw.length} bytes where at most ${longestBytes} are read`;
  return { kind: 'failure', key: null, pointer: '', reason, tooLarge: true, raw };
}
