import type { QuestionOutcome } from '../batch-responses.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { BatchPart } from './batch.ts';
import { type CoreResult, problemOf } from './core-messages.ts';
import type { Input } from './input-queue.ts';
import { type AskedInstrument, planOf } from './instrument.ts';
import type { ReportedFailures } from './reported-failures.ts';
import { withdrawalOf, withdrawalUnanswered } from './withdrawal.ts';

export interface ResultContext {
  /** Whether the instrument is still asked for by this isin: the answer of an earlier one is another product's price. */
  readonly holds: (instrument: AskedInstrument) => boolean;
  readonly reported: ReportedFailures;
}

/** What answers mean now: one result for each of the inputs, or for each question of a refresh. */
export function batchResults({ kind, inputs, questions, answers }: BatchPart, context: ResultContext): CoreResult[] {
  const { outcomes } = answers;
  if (inputs.length === 0)
    return questions.map((instrument, at) => result(kind, instrument, outcomes[at], [], context));
  let next = 0;
  return inputs.map(({ input, superseded, postponed }) => {
    const { meaning, offsets } = input;
    const outcome = meaning.kind === 'price' && !postponed ? outcomes[next++] : undefined;
    if (superseded) return { kind: 'dropped' };
    if (meaning.kind === 'price' && postponed) return postponedResult(kind, meaning.instrument, offsets);
    return inputResult(kind, input, outcome, context);
  });
}

/** `offsets`: those of the records that are answered so; none where one is only left behind. */
export function postponedResult(kind: PriceKind, instrument: AskedInstrument, offsets: readonly bigint[]) {
  const withdrawal = kind === 'overview' ? withdrawalUnanswered(instrument, planOf(instrument, kind)) : null;
  return { kind: 'postponed' as const, instrument, offsets, withdrawal };
}

function inputResult(
  kind: PriceKind,
  { meaning, offsets, id }: Input,
  outcome: QuestionOutcome | undefined,
  context: ResultContext,
): CoreResult {
  switch (meaning.kind) {
    case 'price':
      return result(kind, meaning.instrument, outcome, offsets, context);
    case 'noIsin':
    case 'gone':
      return { kind: meaning.kind, id, offsets };
    case 'unreadable':
      return { ...meaning, id, offsets };
  }
}

function result(
  kind: PriceKind,
  instrument: AskedInstrument,
  outcome: QuestionOutcome | undefined,
  offsets: readonly bigint[],
  { holds, reported }: ResultContext,
): CoreResult {
  if (outcome === undefined) throw new RangeError('A batch was answered with fewer outcomes than it had questions.');
  if (!holds(instrument)) return { kind: 'dropped' };
  if (outcome.kind === 'prices') return { kind: 'prices', instrument, answer: outcome, offsets };
  const problem = problemOf(outcome);
  const isDeadLetter = offsets.length > 0 || !reported.has(kind, instrument.id, problem);
  // A series keeps what was; only a snapshot says that it holds now.
  const withdrawal = kind === 'overview' ? withdrawalOf(instrument, planOf(instrument, kind), problem) : null;
  return { kind: 'failure', instrument, outcome, problem, offsets, isDeadLetter, withdrawal };
}
