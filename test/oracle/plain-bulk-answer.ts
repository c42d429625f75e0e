import type { PriceQuery } from '../../src/config/price-kinds/all.ts';
import { ConnectorError } from '../../src/errors.ts';
import type { BulkResponse, PriceQuestion, PriceResponse } from '../../src/prices/bulk-prices.ts';
import { quotedText } from '../../src/provider/http/quoted-text.ts';
import { isResponseType, responseType } from '../../src/provider/market-data.ts';
import type { DecodedFailure } from '../../src/records/decoding/decoded-list.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../../src/records/json/json-value.ts';
import { createListReader } from './list-reader.ts';
import type { PriceDecoder } from './plain-price-decoder.ts';

export interface BulkResponseOptions {
  readonly questions: readonly PriceQuestion[];
  /** What was asked for: every response has the $type of it. */
  readonly kind: PriceQuery['kind'];
  readonly decoder: PriceDecoder;
}

const ANSWER_MEMBERS = ['errors'];
const ITEM_MEMBERS = new Set(['responseIdentifier', 'response', 'errorResponse']);
const LONGEST_TITLE = 200;
// A series of 10,000 windows, the most that are read, of some 300 bytes each.
const LONGEST_ITEM_BYTES = 3 * 1024 * 1024;

interface ReadItem {
  readonly answer: PriceResponse;
  readonly drift: number;
  readonly roundedNumbers: number;
}

/**
 * Reads the body of a bulk response (BulkProductMarketDataResponse, part 2.1 of src/provider/README.md). An item is taken
 * only where its position, its isin and its $type say the same: anything else may be the price of another product, and
 * then nothing of the answer can be trusted, since nobody knows which of the three was right.
 *
 * @throws ConnectorError BULK_MISMATCH, or BODY_MALFORMED when the body is no such answer at all.
 */
export async function readBulkResponse(
  body: AsyncIterable<Uint8Array>,
  { questions, kind, decoder }: BulkResponseOptions,
): Promise<BulkResponse> {
  function decodeRow(item: JsonValue, raw: Buffer, at: number): ReadItem {
    const question = questions[at];
    if (question === undefined) throw mismatch(at, `has more items than the ${questions.length} that were asked for`);
    return readItem({ item, raw, question, at, kind, decoder });
  }

  const list = createListReader<ReadItem>({
    listKey: 'items',
    key: null,
    longestRowBytes: LONGEST_ITEM_BYTES,
    decodeRow,
  });
  const { rows, envelope, duplicateKeys } = await list.read(body);
  if (rows.length !== questions.length) {
    throw mismatch(rows.length, `has ${rows.length} items where ${questions.length} were asked for`);
  }
  const items = rows.map((row) => ('kind' in row ? unread(row) : row));
  const unknown = [...envelope].filter(([name, value]) => value !== null && !ANSWER_MEMBERS.includes(name));
  return {
    answers: items.map(({ answer }) => answer),
    drift: items.reduce((sum, { drift }) => sum + drift, unknown.length + duplicateKeys),
    roundedNumbers: items.reduce((sum, { roundedNumbers }) => sum + roundedNumbers, 0),
  };
}

function readItem(options: {
  readonly item: JsonValue;
  readonly raw: Buffer;
  readonly question: PriceQuestion;
  readonly at: number;
  readonly kind: PriceQuery['kind'];
  readonly decoder: PriceDecoder;
}): ReadItem {
  const { item, raw, question, at, kind, decoder } = options;
  if (!(item instanceof Map)) throw mismatch(at, 'has something else than an object as an item');
  const identifier = memberOf(item, 'responseIdentifier');
  if (memberOf(identifier, 'isin') !== question.isin) {
    throw mismatch(at, 'has an item whose responseIdentifier names another isin than was asked for there');
  }
  const response = memberOf(item, 'response');
  const errorResponse = memberOf(item, 'errorResponse');
  const unknown = [...item].filter(([name, value]) => value !== null && !ITEM_MEMBERS.has(name)).length;
  const without = { drift: unknown, roundedNumbers: 0 };
  // An item with both response and errorResponse counts as failed.
  if (response === null || errorResponse !== null) {
    return { ...without, answer: { kind: 'problem', ...problemOf(errorResponse), item: Buffer.from(raw) } };
  }
  if (!isResponseType(memberOf(response, '$type'), kind)) {
    throw mismatch(at, `has a response that is no ${responseType(kind)}`);
  }
  const decoded = decoder.decode(response, question);
  if (decoded.kind === 'failure') {
    const pointer = `/response${decoded.pointer}`;
    const answer: PriceResponse = { kind: 'unusable', reason: decoded.reason, pointer, item: Buffer.from(raw) };
    return { ...without, answer };
  }
  const { records, isQuotingPulled, driftFields, roundedNumbers } = decoded;
  const answer: PriceResponse = { kind: 'prices', records, isQuotingPulled, range: null };
  return { answer, drift: unknown + driftFields, roundedNumbers };
}

// Too long or too deep to be looked into, or with bytes that are no text: whose it is, only its position says.
function unread({ reason, raw }: DecodedFailure): ReadItem {
  return { answer: { kind: 'unusable', reason, pointer: '', item: raw }, drift: 0, roundedNumbers: 0 };
}

/**
 * Status and title of a ProblemDetails (part 2.1 of src/provider/README.md); both null for none, and for what is not of
 * its form.
 */
function problemOf(problem: JsonValue) {
  const status = memberOf(problem, 'status');
  const title = memberOf(problem, 'title');
  const number = status instanceof JsonNumber ? Number(status.text) : Number.NaN;
  return {
    status: Number.isInteger(number) ? number : null,
    title: typeof title === 'string' ? quotedText(title.toWellFormed(), LONGEST_TITLE) : null,
  };
}

function memberOf(value: JsonValue, name: string): JsonValue {
  return value instanceof Map ? ((value as JsonObject).get(name) ?? null) : null;
}

function mismatch(position: number, what: string): ConnectorError {
  return new ConnectorError(
    'BULK_MISMATCH',
    `The bulk response ${what} (item ${position}). Nothing of it is used, so that no price goes to another product.`,
    { fields: { position } },
  );
}
