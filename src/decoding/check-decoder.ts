import type { CheckDecoder, CheckDecoderOptions, DecodedCheck } from '../avro/check-decoder.ts';
import type { JsonValue } from '../avro/exact-json.ts';
import { malformed, readSingleJson } from '../avro/json-body.ts';
import { isArray, toJsonText } from '../avro/json-text.ts';
import type { DecodedFailure } from '../avro/list-reader.ts';
import { CHECK_KEY, usableKey } from '../avro/row-key.ts';
import { parseSchema } from '../avro/schema.ts';
import type { RowDecoder } from './body-decoder.ts';
import { compilePlan } from './compile-plan.ts';
import { fieldText } from './derived-fields.ts';
import { ListDecoder } from './list-decoder.ts';
import type { Plan } from './plan.ts';
import { RecordWriter } from './record-writer.ts';
import type { RowReader } from './row-reader.ts';
import { type DecodingSizes, USUAL_SIZES } from './sizes.ts';

const LIST_KEY = 'preTradeChecks';
const KEY_FIELD = 'preTradeCheckId';

/** The body of an answer about pre-trade checks, to records. No error and no failure quotes what was sent. */
export function createCheckDecoder(options: CheckDecoderOptions & { readonly sizes?: DecodingSizes }): CheckDecoder {
  const { clock, sizes = USUAL_SIZES } = options;
  const plan = compilePlan(parseSchema(options.schema));
  const rowDecoder = (reader: RowReader) => new Checks(plan, reader, options, sizes);
  const list = new ListDecoder<DecodedCheck, null>({
    listKey: LIST_KEY,
    plan,
    rowDecoder,
    key: CHECK_KEY,
    clock,
    sizes,
  });

  async function decode(body: AsyncIterable<Uint8Array>) {
    const decoded = await list.decode(body, null);
    // A row that is not read, such as one that is too long, comes with its bytes.
    const rows = decoded.rows.map((row) =>
      row.kind === 'failure' ? failure(row.key, row.pointer, row.reason, row.tooLarge) : row,
    );
    return { ...decoded, rows };
  }

  return {
    decode,
    async decodeSingle(body) {
      const check = findCheck(await readSingleJson(body), (name) => plan.record?.keys.has(name) === true);
      if (check === null) throw malformed('is no pre-trade check and does not hold exactly one');
      const [decoded] = (await decode(listOf(toJsonText(check)))).rows;
      if (decoded === undefined) throw new Error('A list of one check has none.');
      return decoded;
    },
  };
}

class Checks implements RowDecoder<DecodedCheck, null> {
  readonly #plan: Plan;
  readonly #reader: RowReader;
  readonly #writer: RecordWriter;
  readonly #maxValueBytes: number;

  constructor(plan: Plan, reader: RowReader, options: CheckDecoderOptions, sizes: DecodingSizes) {
    const { schemaId, onMismatch, maxValueBytes = Number.POSITIVE_INFINITY } = options;
    const keepMismatches = onMismatch === 'keepInExtras';
    this.#plan = plan;
    this.#reader = reader;
    this.#writer = new RecordWriter({ reader, schemaId, keepMismatches, slabBytes: sizes.slab });
    this.#maxValueBytes = maxValueBytes;
  }

  decode(start: number, end: number): DecodedCheck {
    const writer = this.#writer;
    const value = writer.write(this.#plan, 0, end - start);
    const id = fieldText(this.#reader, this.#plan, 0, KEY_FIELD);
    const key = id === null ? null : usableKey(id);
    if (value === null) return failure(key, writer.mismatches.pointer, writer.mismatches.reason);
    if (key === null) return failure(null, `/${KEY_FIELD}`, 'an id that is empty or too long to be a key');
    if (value.length > this.#maxValueBytes) {
      return failure(key, '', `a value of ${value.length} bytes where the topic takes ${this.#maxValueBytes}`, true);
    }
    const { driftFields, roundedNumbers } = writer.extras;
    return {
      kind: 'record',
      key,
      isin: fieldText(this.#reader, this.#plan, 0, 'isin'),
      value,
      driftFields,
      roundedNumbers,
    };
  }
}

function failure(key: string | null, pointer: string, reason: string, tooLarge = false): DecodedFailure {
  return { kind: 'failure', key, pointer, reason, tooLarge, raw: Buffer.alloc(0) };
}

// An object with any member of a check is the check, complete or not; else it is looked for one step below.
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
