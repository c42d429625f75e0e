import type { PriceQuery } from '../../config/price-kinds/all.ts';
import type { DecodedFailure } from '../../decoding/decoded-list.ts';
import type { PriceBodyDecoder } from '../../decoding/price-decoder.ts';
import type { ItemHead, PriceItem } from '../../decoding/price-item.ts';
import { ConnectorError } from '../../errors.ts';
import { quotedText } from '../../http/quoted-text.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../../json/exact-json.ts';
import { isResponseType, responseType } from '../../provider/price-query.ts';
import type { BulkResponse, PriceQuestion, PriceResponse } from '../bulk-prices.ts';

export interface BulkResponseOptions {
  readonly questions: readonly PriceQuestion[];
  /** What was asked for: every response has the $type of it. */
  readonly kind: PriceQuery['kind'];
  readonly decoder: PriceBodyDecoder;
  /** By our clock, in milliseconds since the epoch. */
  readonly requestedAtMs: number;
  readonly receivedAtMs: number;
}

const ANSWER_MEMBERS = ['errors'];
const LONGEST_TITLE = 200;

/**
 * Reads the body of a bulk response (BulkProductMarketDataResponse, part 2.1 of src/provider/README.md). An item is taken
 * only where its position, its isin and its $type say the same: anything else may be the price of another product, and
 * then nothing of the response can be trusted, since it is unknown which of the three is right.
 *
 * @throws ConnectorError BULK_MISMATCH, or BODY_MALFORMED when the body is no such response at all.
 */
export async function readBulkResponse(
  body: AsyncIterable<Uint8Array>,
  { questions, kind, decoder, requestedAtMs, receivedAtMs }: BulkResponseOptions,
): Promise<BulkResponse> {
  function instrumentOf(at: number, head: ItemHead | null): PriceQuestion {
    const question = questions[at];
    if (question === undefined) throw mismatch(at, `has more items than the ${questions.length} that were asked for`);
    if (head === null) throw mismatch(at, 'has something else than an object as an item');
    if (head.isin !== question.isin) {
      throw mismatch(at, 'has an item whose responseIdentifier names another isin than was asked for there');
    }
    if (head.isPriced && !isResponseType(head.type, kind)) {
      throw mismatch(at, `has a response that is no ${responseType(kind)}`);
    }
    return question;
  }

  const { rows, envelope, duplicateKeys } = await decoder.decode(body, {
    requestedAtMs,
    receivedAtMs,
    isinAt: (at) => questions[at]?.isin,
    instrumentOf,
  });
  if (rows.length !== questions.length) {
    throw mismatch(rows.length, `has ${rows.length} items where ${questions.length} were asked for`);
  }
  const unknown = [...envelope].filter(([name, value]) => value !== null && !ANSWER_MEMBERS.includes(name));
  let drift = unknown.length + duplicateKeys;
  let roundedNumbers = 0;
  let hasProblem = false;
  const answers: PriceResponse[] = [];
  for (const row of rows) {
    answers.push(answerOf(row));
    if (row.kind !== 'failure') drift += row.driftFields;
    if (row.kind === 'prices') roundedNumbers += row.roundedNumbers;
    else if (row.kind === 'problem') hasProblem = true;
  }
  return { answers, errorsFlagDiffers: envelope.get('errors') !== hasProblem, drift, roundedNumbers };
}

function answerOf(row: PriceItem | DecodedFailure): PriceResponse {
  switch (row.kind) {
    case 'prices':
      return { kind: 'prices', records: row.records, isQuotingPulled: row.isQuotingPulled };
    // An item with both response and errorResponse counts as failed.
    case 'problem':
      return { kind: 'problem', ...problemOf(row.problem), item: row.item };
    case 'unusable':
      return { kind: 'unusable', reason: row.reason, pointer: row.pointer, item: row.item };
    // Too long or too deep to be looked into, or with bytes that are no text: whose it is, only its position says.
    case 'failure':
      return { kind: 'unusable', reason: row.reason, pointer: '', item: row.raw };
  }
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
