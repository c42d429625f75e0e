/** The terms that prices need in addition to id and isin; null if the provider does not send the term. */
export interface InstrumentTerms {
  readonly currency: string | null;
  readonly priceType: string | null;
  /** The instrument's repayment day, in days since 1970-01-01. */
  readonly repaymentDay: number | null;
}

export const NO_TERMS: InstrumentTerms = { currency: null, priceType: null, repaymentDay: null };
