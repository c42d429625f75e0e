/**
 * The history of an instrument. Its text is a pure function of the seed, its id and this, so the ledger holds a few
 * words per change, not a copy of 8 KB.
 */
export interface InstrumentVersion {
  readonly number: number;
  readonly dataChanges: number;
  readonly adjustments: number;
  /** Times at which barriers were breached, one per underlying, in the form `YYYY-MM-DD HH:MM:SS`. */
  readonly breachedAt: readonly string[];
  readonly couponsPaid: number;
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
