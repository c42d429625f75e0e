import type { BatchResponses } from '../batch-responses.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { Input } from './input-queue.ts';
import type { AskedInstrument } from './instrument.ts';

/** An input on its way. */
export interface BatchInput {
  readonly input: Input;
  /** A later record of its id will answer it. */
  superseded: boolean;
  /** It has waited too long: its records are answered without a price, which is owed. */
  postponed: boolean;
}

/** Instruments that are asked for in one bulk call. */
export interface Batch {
  readonly kind: PriceKind;
  /** What to ask; each isin once. */
  readonly questions: readonly AskedInstrument[];
  /** In the order of the questions; some ask nothing. Empty for a refresh. */
  readonly inputs: readonly BatchInput[];
  /** Of one instrument that spoils the calls that it shares: it is asked for with little patience. */
  readonly isAlone: boolean;
}

/** Questions of a batch that are answered, and what they answer: all of it, or what has come so far. Inputs may be more. */
export interface BatchPart {
  readonly kind: PriceKind;
  readonly questions: readonly AskedInstrument[];
  readonly inputs: readonly BatchInput[];
  readonly answers: BatchResponses;
}

export const NOTHING_ASKED = { calls: 0, askMs: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 };

/** A part that says something of inputs without any answer. */
export function nothingAsked(kind: PriceKind, inputs: readonly BatchInput[] = []): BatchPart {
  return { kind, questions: [], inputs, answers: { ...NOTHING_ASKED, outcomes: [] } };
}
