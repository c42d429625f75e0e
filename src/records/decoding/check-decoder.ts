import { parseSchema } from '../avro/schema.ts';
import { malformed, readJson } from '../json/json-scanner.ts';
import { isArray, type JsonValue, toJsonText } from '../json/json-value.ts';
import { usableKey } from '../json/row-key.ts';
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

/** A failure contains no bytes of the check, because a check has a URL, and a reader of this URL can trade. */
export type DecodedCheck = DecodedRecord | DecodedFailure;

export interface CheckDecoder {
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedList<DecodedCheck>>;
  /** Decodes the response for one id. The response is the check, or an object or list that contains one check. */
  decodeSingle(body: AsyncIterable<Uint8Array>): Promise<DecodedCheck>;
}

export interface CheckDecoderOptions extends RecordOptions {
  readonly schema: string;
  readonly schemaId: number;
}

const LIST_KEY = 'preTradeChecks';
const KEY_FIELD = 'preTradeCheckId';
const NO_BYTES = Buffer.alloc(0);
const NO_KEY = { pointer: `/${KEY_FIELD}`, reason: 'an id that is empty or too long to be a key', tooLarge: false };

export function createCheckDecoder(options: CheckDecoderOptions): CheckDecoder {
  const plan = compilePlan(parseSchema(options.schema));
  const rowDecoder = (reader: RowReader): RowDecoder<DecodedCheck, null> => {
    const writer = new RecordWriter(reader, options.schemaId, options);
    return (start, end) => {
      const value = writer.write(plan, 0, end - start);
      const id = fieldText(reader, plan, 0, KEY_FIELD);
      const key = id === null ? null : usableKey(id);
      if (value === null) return failureOf(key, writer.mismatches, NO_BYTES);
      if (key === null) return failureOf(null, NO_KEY, NO_BYTES);
      const flaw = tooLong(value, options);
      if (flaw !== null) return failureOf(key, flaw, NO_BYTES);
      const { driftFields, roundedNumbers } = writer.extras;
      const isin = fieldText(reader, plan, 0, 'isin');
      return { kind: 'record', key, isin, value, driftFields, roundedNumbers };
    };
  };
  const list = new ListDecoder<DecodedCheck, null>({
    ...options,
    listKey: LIST_KEY,
    plan,
    rowDecoder,
    key: { path: [KEY_FIELD], form: 'text' },
  });

  async function decode(body: AsyncIterable<Uint8Array>) {
    const decoded = await list.decode(body, null);
    const rows = decoded.rows.map((row) => (row.kind === 'failure' ? failureOf(row.key, row, NO_BYTES) : row));
    return { ...decoded, rows };
  }

  return {
    decode,
    async decodeSingle(body) {
      const check = findCheck(await readJson(body), (name) => plan.record?.keys.has(name) === true);
      if (check === null) throw malformed('is not a pre-trade check and does not contain exactly one');
      const [decoded] = (await decode(listOf(toJsonText(check)))).rows;
      if (decoded === undefined) throw new Error('The list of one check has no check.');
      return decoded;
    },
  };
}

// An object with any member of a check counts as the check. Otherwise, one of its members or elements is the check.
function findCheck(answer: JsonValue, isKnown: (name: string) => boolean): JsonValue | null {
  const isCheck = (value: JsonValue) => value instanceof Map && [...value.keys()].some(isKnown);
  if (isCheck(answer)) return answer;
  const members = answer instanceof Map ? [...answer.values()] : [answer];
  const found = members.flatMap((member) => (isArray(member) ? member : [member])).filter(isCheck);
  return found.length === 1 ? (found[0] ?? null) : null;
}

async function* listOf(row: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`{"${LIST_KEY}":[${row}]}`);
}
