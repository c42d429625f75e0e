/**
 * The history of an instrument. The instrument's text depends only on the seed, the instrument's id and this history. So
 * the ledger holds this small object for each change, not a text of 8 KB.
 */
export interface InstrumentVersion {
  readonly number: number;
  readonly dataChanges: number;
  readonly adjustments: number;
  /** Times of barrier breaches, one per underlying, in the form `YYYY-MM-DD HH:MM:SS`. */
  readonly breachedAt: readonly string[];
  readonly couponsPaid: number;
  readonly repaidOn: string | null;
  /** The text of the whole instrument if a test published this text; null: the text is generated. */
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
