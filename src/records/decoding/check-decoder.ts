// Makes one record from a pre-trade check. A row that fails keeps no bytes: a check carries a URL that lets its holder
// trade.

import type { Clock } from '../../support/clock.ts';
import { parseSchema } from '../avro/schema.ts';
import { malformed, readJson } from '../json/json-scanner.ts';
import type { JsonValue } from '../json/json-value.ts';
import { isArray, toJsonText } from '../json/json-value.ts';
import { CHECK_KEY, usableKey } from '../json/row-key.ts';
import {
  type DecodedFailure,
  type DecodedList,
  type DecodingSizes,
  type OnMismatch,
  type RowDecoder,
  USUAL_SIZES,
} from './decoded-list.ts';
import { ListDecoder } from './list-decoder.ts';
import { compilePlan, type ValuePlan } from './plan.ts';
import { RecordWriter } from './record-writer.ts';
import { fieldText, type RowReader } from './row-reader.ts';

/**
 * A pre-trade check: encoded, or why it could not be. A check carries a URL that lets its holder trade, so a failure
 * has the key and the pointer and no bytes: `raw` is always empty.
 */
export type DecodedCheck =
  | {
      readonly kind: 'record';
      readonly key: string;
      readonly isin: string | null;
      readonly value: Buffer;
      readonly driftFields: number;
      readonly roundedNumbers: number;
    }
  | DecodedFailure;

/** From the body of a response about pre-trade checks to records. No error and no failure quotes what was sent. */
export interface CheckDecoder {
  /** @throws ConnectorError BODY_MALFORMED when the body as a whole is not what was expected. */
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedList<DecodedCheck>>;
  /**
   * The response for a check's id. The interface does not show its shape: it is the check itself, or has the one check
   * as a member or in a list.
   * @throws ConnectorError BODY_MALFORMED when it has neither form
   */
  decodeSingle(body: AsyncIterable<Uint8Array>): Promise<DecodedCheck>;
}

export interface CheckDecoderOptions {
  readonly schema: string;
  readonly schemaId: number;
  readonly onMismatch: OnMismatch;
  /** The longest value, header included, that the topic takes; a longer one is a failure. No limit when absent. */
  readonly maxValueBytes?: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

const LIST_KEY = 'preTradeChecks';
const KEY_FIELD = 'preTradeCheckId';

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
    // A row that is not read, such as one that is too long, comes with its bytes: they are dropped.
    const rows = decoded.rows.map((row) =>
      row.kind === 'failure' ? failure(row.key, row.pointer, row.reason, row.tooLarge) : row,
    );
    return { ...decoded, rows };
  }

  return {
    decode,
    async decodeSingle(body) {
      const check = findCheck(await readJson(body), (name) => plan.record?.keys.has(name) === true);
      if (check === null) throw malformed('is not a pre-trade check and does not hold exactly one');
      const [decoded] = (await decode(listOf(toJsonText(check)))).rows;
      if (decoded === undefined) throw new Error('A list of one check has none.');
      return decoded;
    },
  };
}

class Checks implements RowDecoder<DecodedCheck, null> {
  readonly #plan: ValuePlan;
  readonly #reader: RowReader;
  readonly #writer: RecordWriter;
  readonly #maxValueBytes: number;

  constructor(plan: ValuePlan, reader: RowReader, options: CheckDecoderOptions, sizes: DecodingSizes) {
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
      return failure(key, '', `a value of ${value.length} bytes; the topic takes at most ${this.#maxValueBytes}`, true);
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
