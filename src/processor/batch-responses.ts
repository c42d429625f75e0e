import type { PriceResponse } from './bulk-prices.ts';

/** What became of one question in the end: its answer, or that even a call for it alone was refused or mismatched. */
export type QuestionOutcome = PriceResponse | { readonly kind: 'refused'; readonly status: number | null };

/** What all calls for one batch came to. */
export interface BatchResponses {
  /** One for each question, in their order. */
  readonly outcomes: readonly QuestionOutcome[];
  readonly calls: number;
  readonly askMs: number;
  readonly drift: number;
  readonly roundedNumbers: number;
  readonly errorsFlagDiffers: number;
}
