import type { PriceQuery } from '../config/price-kinds/all.ts';
import type { DecodedPrice, PricedInstrument } from '../decoding/priced.ts';

/**
 * What is asked for of an instrument, with a schedule, calls and a place in the metrics of its own: the overview, or a series
 * (part 2.1 of src/provider/README.md). Where several series of daily or intraday prices are followed, each has its name:
 * `daily/OHLC`, `intraday/Hour_1/Close`.
 */
export type PriceKind = PriceQuery['kind'] | `${Exclude<PriceQuery['kind'], 'overview'>}/${string}`;

/** One item of a bulk request. */
export type PriceQuestion = PricedInstrument;

/** What became of one question; each belongs to the question in the same position. */
export type PriceResponse =
  /** A snapshot (one record), or the windows of a series (any number, also none). */
  | {
      readonly kind: 'prices';
      readonly records: readonly DecodedPrice[];
      /** Overview only: quoting was inactive; null where the provider does not say. */
      readonly isQuotingPulled: boolean | null;
    }
  /** The provider could not answer this item: its ProblemDetails, or that both response and errorResponse were null. */
  | { readonly kind: 'problem'; readonly status: number | null; readonly title: string | null; readonly item: Buffer }
  /** The answer is of the right kind and has a field of the wrong type, at this JSON pointer. Never quotes a value. */
  | { readonly kind: 'unusable'; readonly reason: string; readonly pointer: string; readonly item: Buffer };

export interface BulkResponse {
  readonly answers: readonly PriceResponse[];
  /** The `errors` flag says otherwise than the items. Harmless, counted. */
  readonly errorsFlagDiffers: boolean;
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
