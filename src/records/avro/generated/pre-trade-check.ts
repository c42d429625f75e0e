// Generated from schemas/PreTradeCheck.avsc by src/records/avro/generate-types.ts; a test fails when it is stale.
// Decimals are unscaled bytes, dates days since 1970-01-01, date-times milliseconds since then, or microseconds.

import type { Instrument } from './instrument.ts';

/** A pre-trade check that a user triggered in the trading platform (reference data interface, part 2.2). */
export type PreTradeCheck = {
  /** Id of the check, as the user sees it in the platform. */
  readonly preTradeCheckId: string;
  /** The isin of the instrument, as in its own record. */
  readonly isin: string | null;
  /** Where the check is simulated again and traded. A secret: whoever holds it can trade. */
  readonly simulationUrl: string | null;
  /** The instrument as it was then: the bytes of its own record. */
  readonly instrument: Instrument | null;
  /** The trades that the check is about. */
  readonly indicativeTrades: readonly IndicativeTrade[] | null;
  /** What was sent beside the instrument and has no field here: JSON pointer to minified JSON text, sorted by pointer. Also holds, verbatim, what a field could not hold exactly. What was sent within the instrument stands in the extras of the instrument. Not sent by the provider. */
  readonly extras: { readonly [key: string]: string } | null;
};

/** A trade that may be made. */
export type IndicativeTrade = {
  /** Id of the check. */
  readonly preTradeCheckId: string | null;
  /** Quantity. */
  readonly quantity: Buffer | null;
  /** Volume. */
  readonly volume: Buffer | null;
  /** Net volume. */
  readonly volumeNet: Buffer | null;
  /** Reference of the trade. */
  readonly reference: string | null;
};
