/** What prices need of an instrument beside its id and isin; null where the provider does not give it. */
export interface InstrumentTerms {
  readonly currency: string | null;
  /** How its prices are quoted. Known: unit, percentage. */
  readonly priceType: string | null;
  /** The day of its repayment, in days since 1970-01-01. */
  readonly repaymentDay: number | null;
}

export const NO_TERMS: InstrumentTerms = { currency: null, priceType: null, repaymentDay: null };
