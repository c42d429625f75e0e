import type { PriceQuestion } from './bulk-prices.ts';

/** Some of the questions of a batch, one after the other. */
export interface Part {
  readonly from: number;
  readonly questions: readonly PriceQuestion[];
  /** It is what a call that hung or failed was divided into. */
  readonly isSuspected: boolean;
}

export function divided({ from, questions, isSuspected }: Part, size: number): readonly Part[] {
  return Array.from({ length: Math.ceil(questions.length / size) }, (_, at) => ({
    from: from + at * size,
    questions: questions.slice(at * size, (at + 1) * size),
    isSuspected,
  }));
}
