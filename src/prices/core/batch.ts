import type { PriceKind, QuestionOutcome } from '../bulk-prices.ts';
import type { AskedInstrument, InstrumentNews } from './instrument.ts';

export type InputMeaning = { readonly kind: 'price'; readonly instrument: AskedInstrument } | UnpricedMeaning;

export type UnpricedMeaning = { readonly kind: 'noIsin' } | Exclude<InstrumentNews, { readonly kind: 'live' }>;

/** Records of one id that one result will answer. */
export interface Input {
  readonly id: string;
  /** Ascending. The last one is its place in the queue; those before are records that it has superseded. */
  readonly offsets: readonly bigint[];
  readonly readAtMs: number;
  /** When the first of its records that are not answered was read, in time outside of commits. */
  readonly waitsSinceMs: number;
  readonly meaning: InputMeaning;
}

export interface BatchInput {
  readonly input: Input;
  /** A later record of its id will answer it. */
  superseded: boolean;
  /** It has waited too long: its records are answered without a price, which is owed. */
  postponed: boolean;
}

export interface Batch {
  readonly kind: PriceKind;
  readonly questions: readonly AskedInstrument[];
  /** In the order of the questions; some ask nothing. Empty for a refresh. */
  readonly inputs: readonly BatchInput[];
}

/** Answered questions of a batch; there may be more inputs than questions. */
export interface BatchPart {
  readonly kind: PriceKind;
  readonly questions: readonly AskedInstrument[];
  readonly inputs: readonly BatchInput[];
  readonly outcomes: readonly QuestionOutcome[];
}

export function nothingAsked(kind: PriceKind, inputs: readonly BatchInput[] = []): BatchPart {
  return { kind, questions: [], inputs, outcomes: [] };
}

const MOST_OPEN = 4;
/** Of one transaction, in questions. */
const MOST_COMMITTED = 2_000;

/** The batches of one kind that answer no record, until their answers are committed. They need no order. */
export class RefreshBatches {
  readonly #open = new Map<Batch, number>();
  #answered: { readonly batch: Batch; readonly part: BatchPart }[] = [];

  isFull(maxItems: number): boolean {
    let questions = 0;
    for (const unanswered of this.#open.values()) questions += unanswered;
    return questions > (MOST_OPEN - 1) * maxItems;
  }

  /** @param unanswered fewer than its questions where some answered records before. */
  add(batch: Batch, unanswered = batch.questions.length): void {
    this.#open.set(batch, unanswered);
  }

  /** Batches whose records are already answered without a price: their answers count as refreshes. */
  get adopted(): number {
    return [...this.#open.keys()].filter(({ inputs }) => inputs.length > 0).length;
  }

  answered(batch: Batch, positions: readonly number[], outcomes: readonly QuestionOutcome[]): void {
    const questions = positions.map((at) => batch.questions[at] as AskedInstrument);
    this.#answered.push({ batch, part: { kind: batch.kind, questions, inputs: [], outcomes } });
  }

  takeAnswered(): BatchPart[] {
    let taken = 0;
    let questions = 0;
    for (const { part } of this.#answered) {
      if (questions >= MOST_COMMITTED) break;
      questions += part.questions.length;
      taken += 1;
    }
    const parts = this.#answered.slice(0, taken);
    this.#answered = this.#answered.slice(taken);
    for (const { batch, part } of parts) {
      const left = (this.#open.get(batch) ?? 0) - part.questions.length;
      if (left > 0) this.#open.set(batch, left);
      else this.#open.delete(batch);
    }
    return parts.map(({ part }) => part);
  }
}
