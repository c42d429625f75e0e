/** The terms that prices need beside id and isin; null where the provider does not give them. */
export interface InstrumentTerms {
  readonly currency: string | null;
  readonly priceType: string | null;
  /** The day of its repayment, in days since 1970-01-01. */
  readonly repaymentDay: number | null;
}

export const NO_TERMS: InstrumentTerms = { currency: null, priceType: null, repaymentDay: null };
