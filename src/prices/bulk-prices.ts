import type { PriceQuery } from '../config/price-kinds/all.ts';
import type { ErrorCode } from '../errors.ts';
import type { DecodedPrice, PricedInstrument } from '../records/decoding/priced.ts';

/**
 * A kind of prices: the overview or a series (part 2.1 of src/provider/README.md). Each kind has its own calls and
 * metrics. A kind with several series counts as several kinds: `daily/OHLC`, `intraday/Hour_1/Close`.
 */
export type PriceKind = PriceQuery['kind'] | `${Exclude<PriceQuery['kind'], 'overview'>}/${string}`;

/** An instrument whose price is requested: one item of a bulk call. */
export interface PriceQuestion extends PricedInstrument {
  /** The end of the windows that were already answered, in ms since 1970 by the provider's clock. If absent: now. */
  readonly answeredMs?: number | undefined;
}

/** The range of requested windows, in milliseconds since the epoch by the provider's clock. */
export interface AnsweredRange {
  readonly fromMs: number;
  readonly untilMs: number;
  /** False if later windows, up to now, need another request. */
  readonly isLast: boolean;
}

export type PriceResponse =
  /** An overview has one record. A series has a record for each window, or no record if there are no windows. */
  | {
      readonly kind: 'prices';
      readonly records: readonly DecodedPrice[];
      /** Overview only: true if quoting was inactive; null if the provider does not say. */
      readonly isQuotingPulled: boolean | null;
      readonly range?: AnsweredRange | null;
    }
  /** The provider gave no price: the item has a ProblemDetails, or both response and errorResponse are null. */
  | { readonly kind: 'problem'; readonly status: number | null; readonly item: Buffer }
  /** The item cannot become a record. `pointer`: the wrong field's JSON pointer, or empty. `reason` quotes no value. */
  | { readonly kind: 'unusable'; readonly reason: string; readonly pointer: string; readonly item: Buffer };

export interface BulkResponse {
  readonly answers: readonly PriceResponse[];
  /** The number of unknown fields (`extras` keeps them) plus duplicate keys (the last value of a key counts). */
  readonly drift: number;
  /** The number of decimals and instants that are rounded in their field; `extras` keeps their text. */
  readonly roundedNumbers: number;
}

/** Requests the prices of many instruments in one call. Does not divide or retry the call. */
export interface BulkPrices {
  /**
   * @param questions an isin occurs at most once.
   * @param timeoutMs the limit from request to response; the client's limit applies if it is shorter.
   * @throws ConnectorError BULK_MISMATCH if count, order, isin or $type of the items differ from the questions: no item
   *   is used. PROVIDER_REFUSED or PROVIDER_ASKS_FOR_LESS with `fields.status` (400, 413 …) if the provider refuses the
   *   whole call. Also the other errors of the HTTP client, and the signal's reason.
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
  /** Calls for this question alone failed, but other calls were answered. `status`: the last HTTP status, or null. */
  | { readonly kind: 'refused'; readonly status: number | null; readonly code: ErrorCode }
  | { readonly kind: 'dropped' };
