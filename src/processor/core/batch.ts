import type { BatchAnswers } from '../batch-answers.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { Input } from './input-queue.ts';
import type { Instrument } from './instrument.ts';

/** An input on its way: superseded when a later record of its id will answer it. */
export interface BatchInput {
  readonly input: Input;
  /** Its position among the questions; null when it asks nothing. */
  readonly question: number | null;
  superseded: boolean;
}

/** Instruments that are asked for in one bulk call. */
export interface Batch {
  readonly kind: PriceKind;
  /** What to ask; each isin once. */
  readonly questions: readonly Instrument[];
  /** Empty for a refresh. */
  readonly inputs: readonly BatchInput[];
  answers: BatchAnswers | null;
}
