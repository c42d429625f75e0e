// Generated from schemas/IntradayPrice.avsc by src/records/avro/generate-types.ts; a test fails when it is stale.
// Decimals are unscaled bytes, dates days since 1970-01-01, date-times milliseconds since then, or microseconds.

/** The prices of a structured product in one window of a day (ProductIntradayPrice, market data interface, part 2.1). */
export type IntradayPrice = {
  /** Id of the instrument in reference data. Not sent with the price. */
  readonly instrumentId: bigint;
  /** The length of the window, as it was asked for. Known: Minute_5, Hour_1. */
  readonly interval: string;
  /** Which fields were asked for. Known: Close, OHLC, BidAsk. */
  readonly fields: string;
  /** When the window opened. */
  readonly windowOpenTimestamp: number | bigint;
  /** The isin that was asked for. Not sent with the price. */
  readonly isin: string | null;
  /** When the window closed. */
  readonly windowCloseTimestamp: number | bigint | null;
  /** Opening price of the window. */
  readonly open: Buffer | null;
  /** Highest price of the window. */
  readonly high: Buffer | null;
  /** Lowest price of the window. */
  readonly low: Buffer | null;
  /** Closing price of the window. */
  readonly close: Buffer | null;
  /** Highest price that a buyer would pay. */
  readonly bid: Buffer | null;
  /** Quantity at bid. */
  readonly bidSize: Buffer | null;
  /** Lowest price that a seller would accept. */
  readonly ask: Buffer | null;
  /** Quantity at ask. */
  readonly askSize: Buffer | null;
  /** The currency of the instrument in reference data, when the price was asked for. Not sent with the price. */
  readonly currency: string | null;
  /** How prices of the instrument are quoted, in reference data. Known: unit, percentage. Not sent with the price. */
  readonly priceType: string | null;
  /** What was sent and has no field here: JSON pointer to minified JSON text, sorted by pointer, /../name for what stood beside the list of windows. Also holds, verbatim, what a field could not hold exactly: decimals of more than 18 fraction digits, instants finer than a microsecond. Not sent by the provider. */
  readonly extras: { readonly [key: string]: string } | null;
  /** When it was asked for, by our clock. */
  readonly requestedAt: number | null;
  /** When the answer began to come, by our clock. These two stand last: what lies before them is equal as long as nothing changed. */
  readonly receivedAt: number | null;
};
