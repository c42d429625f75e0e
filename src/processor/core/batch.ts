import type { BatchAnswers } from '../batch-answers.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { Input } from './input-queue.ts';
import type { Instrument } from './instrument.ts';

/** An input on its way: superseded when a later record of its id will answer it. */
export interface BatchInput {
  readonly input: Input;
  superseded: boolean;
}

/** Instruments that are asked for in one bulk call. */
export interface Batch {
  readonly kind: PriceKind;
  /** What to ask; each isin once. */
  readonly questions: readonly Instrument[];
  /** In the order of the questions; some ask nothing. Empty for a refresh. */
  readonly inputs: readonly BatchInput[];
  /** Of one instrument that spoils the calls that it shares: it is asked for with little patience. */
  readonly isAlone: boolean;
}

/** Questions of a batch that are answered, and what they answer: all of it, or what has come so far. */
export interface BatchPart {
  readonly kind: PriceKind;
  readonly questions: readonly Instrument[];
  readonly inputs: readonly BatchInput[];
  readonly answers: BatchAnswers;
}
