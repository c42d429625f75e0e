import type { PriceQuery } from '../config/price-kinds/all.ts';
import { ConnectorError } from '../errors.ts';
import { isResponseType, responseType } from '../provider/market-data.ts';
import type { DecodedFailure } from '../records/decoding/decoded-list.ts';
import type { PriceBodyDecoder } from '../records/decoding/price-decoder.ts';
import type { ItemHead, PriceItem } from '../records/decoding/priced.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../records/json/json-value.ts';
import type { AnsweredRange, BulkResponse, PriceQuestion, PriceResponse } from './bulk-prices.ts';

export interface BulkResponseOptions {
  readonly questions: readonly PriceQuestion[];
  /** The windows that were requested for the item at this position; null if the kind has no windows. */
  readonly range: (position: number) => AnsweredRange | null;
  readonly kind: PriceQuery['kind'];
  readonly decoder: PriceBodyDecoder;
  readonly requestedAtMs: number;
  readonly receivedAtMs: number;
}

const ANSWER_MEMBERS = ['errors'];

/**
 * Reads the body of a bulk response (BulkProductMarketDataResponse, part 2.1 of src/provider/README.md). Position, isin
 * and $type of each item must match the request. Otherwise no item is used: it may be the price of another product.
 *
 * @throws ConnectorError BULK_MISMATCH, or BODY_MALFORMED if the body is not a bulk response.
 */
export async function readBulkResponse(
  body: AsyncIterable<Uint8Array>,
  { questions, range, kind, decoder, requestedAtMs, receivedAtMs }: BulkResponseOptions,
): Promise<BulkResponse> {
  function instrumentOf(at: number, head: ItemHead | null): PriceQuestion {
    const question = questions[at];
    if (question === undefined) throw mismatch(at, `has more than the ${questions.length} requested items`);
    if (head === null) throw mismatch(at, 'has an item that is not an object');
    if (head.isin !== question.isin) {
      throw mismatch(at, 'has an item whose responseIdentifier names another isin than the request');
    }
    if (head.isPriced && !isResponseType(head.type, kind)) {
      throw mismatch(at, `has a response that is not a ${responseType(kind)}`);
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
    throw mismatch(rows.length, `has ${rows.length} items, but ${questions.length} were requested`);
  }
  const unknown = [...envelope].filter(([name, value]) => value !== null && !ANSWER_MEMBERS.includes(name));
  let drift = unknown.length + duplicateKeys;
  let roundedNumbers = 0;
  const answers: PriceResponse[] = [];
  for (const [at, row] of rows.entries()) {
    answers.push(answerOf(row, range(at)));
    if (row.kind !== 'failure') drift += row.driftFields;
    if (row.kind === 'prices') roundedNumbers += row.roundedNumbers;
  }
  return { answers, drift, roundedNumbers };
}

function answerOf(row: PriceItem | DecodedFailure, range: AnsweredRange | null): PriceResponse {
  switch (row.kind) {
    case 'prices':
      return { ...row, range };
    // An item with both response and errorResponse counts as failed.
    case 'problem':
      return { kind: 'problem', status: statusOf(row.problem), item: row.item };
    case 'unusable':
      return row;
    // The item is too long, too deep or not UTF-8: only its position identifies the product.
    case 'failure':
      return { kind: 'unusable', reason: row.reason, pointer: '', item: row.raw };
  }
}

/** The status of a ProblemDetails (part 2.1 of src/provider/README.md); null if absent or not an integer. */
function statusOf(problem: JsonValue): number | null {
  const status = problem instanceof Map ? (problem as JsonObject).get('status') : null;
  const number = status instanceof JsonNumber ? Number(status.text) : Number.NaN;
  return Number.isInteger(number) ? number : null;
}

function mismatch(position: number, what: string): ConnectorError {
  return new ConnectorError(
    'BULK_MISMATCH',
    `The bulk response ${what} (item ${position}). No item is used, so that no product gets the price of another product.`,
    { fields: { position } },
  );
}
