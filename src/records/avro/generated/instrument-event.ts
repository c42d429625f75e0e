// Generated from schemas/InstrumentEvent.avsc by src/records/avro/generate-types.ts; a test fails when it is stale.
// Decimals are unscaled bytes, dates days since 1970-01-01, date-times milliseconds since then, or microseconds.

import type { Instrument } from './instrument.ts';

/** Something that happened to a structured product, with a copy of the instrument as it was then (reference data interface, parts 2.2 and 6). */
export type InstrumentEvent = {
  /** Id of the instrument at the provider. */
  readonly id: bigint;
  /** The isin of the instrument, as in its own record. */
  readonly isin: string | null;
  /** What happened. Known: newissue, datachange, rulebasedparameteradjustment, repayment, barriercross, couponpayment (income payments too). */
  readonly type: string | null;
  /** The repayment of the event as minified JSON text, numbers as they were sent: the interface does not show its shape. */
  readonly repayment: string | null;
  /** The coupon of the event as minified JSON text, numbers as they were sent: the interface does not show its shape. */
  readonly coupon: string | null;
  /** What was sent beside and within the event and has no field here: JSON pointer to minified JSON text, sorted by pointer. What was sent within the instrument stands in the extras of the instrument. Not sent by the provider. */
  readonly extras: { readonly [key: string]: string } | null;
  /** The instrument as it was then: the bytes of its own record. It stands last, so that they are written once. */
  readonly instrument: Instrument | null;
};
