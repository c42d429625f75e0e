// Generated from schemas/PriceSnapshot.avsc by src/records/avro/generate-types.ts; a test fails when it is stale.
// Decimals are unscaled bytes, dates days since 1970-01-01, date-times milliseconds since then, or microseconds.

/** The latest prices of a structured product at one moment (ProductPriceOverviewResponse, market data interface, part 2.1). */
export type PriceSnapshot = {
  /** Id of the instrument in reference data. Not sent with the price. */
  readonly instrumentId: bigint;
  /** The isin that was asked for. Not sent with the price. */
  readonly isin: string | null;
  /** The quoted price at a point in time. */
  readonly lastPrice: ProductPrice | null;
  /** Opening price of the most recent day. */
  readonly lastOpen: Buffer | null;
  /** When lastOpen was observed. */
  readonly lastOpenObservedAtTimestamp: number | bigint | null;
  /** Highest price of the most recent day. */
  readonly lastDayHigh: Buffer | null;
  /** When lastDayHigh was observed. */
  readonly lastDayHighObservedAtTimestamp: number | bigint | null;
  /** Lowest price of the most recent day. */
  readonly lastDayLow: Buffer | null;
  /** When lastDayLow was observed. */
  readonly lastDayLowObservedAtTimestamp: number | bigint | null;
  /** Last closing price. */
  readonly lastClose: Buffer | null;
  /** When lastClose was observed. */
  readonly lastCloseObservedAtTimestamp: number | bigint | null;
  /** How lastClose was found. Known: Last, Close, Valuation. */
  readonly lastCloseMethod: string | null;
  /** Price that the performance of the day is measured from. */
  readonly dailyPerformanceBasePrice: Buffer | null;
  /** When dailyPerformanceBasePrice was observed. */
  readonly dailyPerformanceBasePriceObservedAtTimestamp: number | bigint | null;
  /** Price that the performance of the year to date is measured from. */
  readonly ytdPerformanceBasePrice: Buffer | null;
  /** When ytdPerformanceBasePrice was observed. */
  readonly ytdPerformanceBasePriceObservedAtTimestamp: number | bigint | null;
  /** Last accrued interest. */
  readonly lastAccruedInterest: Buffer | null;
  /** When lastAccruedInterest was observed. */
  readonly lastAccruedInterestObservedAtTimestamp: number | bigint | null;
  /** The currency of the instrument in reference data, when the price was asked for. Not sent with the price. */
  readonly currency: string | null;
  /** How prices of the instrument are quoted, in reference data. Known: unit, percentage. Not sent with the price. */
  readonly priceType: string | null;
  /** What was sent and has no field here: JSON pointer to minified JSON text, sorted by pointer. Also holds, verbatim, what a field could not hold exactly: decimals of more than 18 fraction digits, instants finer than a microsecond. Not sent by the provider. */
  readonly extras: { readonly [key: string]: string } | null;
  /** When it was asked for, by our clock. */
  readonly requestedAt: number | null;
  /** When the answer began to come, by our clock. These two stand last: what lies before them is equal as long as nothing changed. */
  readonly receivedAt: number | null;
};

/** A quoted price at a point in time. */
export type ProductPrice = {
  /** Highest price that a buyer will pay. */
  readonly bid: Buffer | null;
  /** Quantity at bid. */
  readonly bidSize: Buffer | null;
  /** Lowest price that a seller will accept. */
  readonly ask: Buffer | null;
  /** Quantity at ask. */
  readonly askSize: Buffer | null;
  /** True when quoting is inactive. */
  readonly isQuotingPulled: boolean | null;
  /** When the price was observed. */
  readonly observedAtTimestamp: number | bigint | null;
};
