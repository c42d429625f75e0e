/**
 * What has happened to an instrument since it was issued. The text of an instrument is a pure function of the seed,
 * its id and this, so that the ledger holds a few words per change and not a copy of 8 KB.
 */
export interface InstrumentVersion {
  /** 0 when issued, one more with each change. */
  readonly number: number;
  readonly dataChanges: number;
  readonly adjustments: number;
  /** Times at which barriers were breached, one per underlying, in the form `YYYY-MM-DD HH:MM:SS`. */
  readonly breachedAt: readonly string[];
  readonly couponsPaid: number;
  /** The date of the repayment; null until then. */
  readonly repaidOn: string | null;
  /** The whole instrument as published from outside, in place of a generated one. */
  readonly raw: string | null;
}

export const ISSUED: InstrumentVersion = Object.freeze({
  number: 0,
  dataChanges: 0,
  adjustments: 0,
  breachedAt: [],
  couponsPaid: 0,
  repaidOn: null,
  raw: null,
});
