import type { PriceQuery } from '../config/price-kinds/all.ts';
import type { ErrorCode } from '../errors.ts';
import type { DecodedPrice, PricedInstrument } from '../records/decoding/priced.ts';

/**
 * The overview or a series (part 2.1 of src/provider/README.md), with its own schedule, calls and metrics. Of several
 * series each has its name: `daily/OHLC`, `intraday/Hour_1/Close`.
 */
export type PriceKind = PriceQuery['kind'] | `${Exclude<PriceQuery['kind'], 'overview'>}/${string}`;

export interface PriceQuestion extends PricedInstrument {
  /** Its windows up to then were answered, by the provider's clock; up to now when absent. */
  readonly answeredMs?: number | undefined;
}

/** The windows of an answer, by the provider's clock, in milliseconds since the epoch. */
export interface AnsweredRange {
  readonly fromMs: number;
  readonly untilMs: number;
  /** False where there is more to request, up to the moment of the question. */
  readonly isLast: boolean;
}

export type PriceResponse =
  /** A snapshot (one record), or the windows of a series (any number, also none). */
  | {
      readonly kind: 'prices';
      readonly records: readonly DecodedPrice[];
      /** Overview only: quoting was inactive; null where the provider does not say. */
      readonly isQuotingPulled: boolean | null;
      readonly range?: AnsweredRange | null;
    }
  /** The provider could not answer this item: its ProblemDetails, or that both response and errorResponse were null. */
  | { readonly kind: 'problem'; readonly status: number | null; readonly item: Buffer }
  /** The answer is of the right kind and has a field of the wrong type, at this JSON pointer. Never quotes a value. */
  | { readonly kind: 'unusable'; readonly reason: string; readonly pointer: string; readonly item: Buffer };

export interface BulkResponse {
  readonly answers: readonly PriceResponse[];
  /** Fields that the schema does not know, kept in extras, and keys that came twice, of which the last counts. */
  readonly drift: number;
  /** Decimals and instants that were rounded in their field and kept verbatim in extras. */
  readonly roundedNumbers: number;
}

/** Asks for the prices of many instruments in one call: one attempt, no batching, no retry of its own. */
export interface BulkPrices {
  /**
   * @param questions each isin at most once.
   * @param timeoutMs how long the answer may take, from when the request is sent; never longer than the client allows.
   * @throws ConnectorError BULK_MISMATCH when the answer does not fit the questions (other count, order, isin or $type):
   *   then nothing of it may be used; PROVIDER_REFUSED and PROVIDER_ASKS_FOR_LESS with `fields.status` (400, 413 …) when the
   *   whole call was refused; what else the HTTP client throws; or the signal's reason.
   */
  ask(
    kind: PriceKind,
    questions: readonly PriceQuestion[],
    signal: AbortSignal,
    timeoutMs?: number,
  ): Promise<BulkResponse>;
}

export type QuestionOutcome =
  | PriceResponse
  /** Even calls for it alone failed while others were answered; the status of the last one, if it had one. */
  | { readonly kind: 'refused'; readonly status: number | null; readonly code: ErrorCode }
  | { readonly kind: 'dropped' };
