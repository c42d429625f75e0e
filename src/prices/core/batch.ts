import type { PriceKind, QuestionOutcome } from '../bulk-prices.ts';
import type { AskedInstrument, InstrumentNews } from './instrument.ts';

export type InputMeaning = { readonly kind: 'price'; readonly instrument: AskedInstrument } | UnpricedMeaning;

export type UnpricedMeaning = { readonly kind: 'noIsin' } | Exclude<InstrumentNews, { readonly kind: 'live' }>;

/** Instrument records of one id that await a result. One result answers all these records. */
export interface Input {
  readonly id: string;
  /** The offsets of the records, ascending. The last record supersedes the earlier ones and decides the place in the queue. */
  readonly offsets: readonly bigint[];
  readonly readAtMs: number;
  /** When the first unanswered record was read: monotonic milliseconds, minus the time that commits have taken. */
  readonly waitsSinceMs: number;
  readonly meaning: InputMeaning;
}

export interface BatchInput {
  readonly input: Input;
  /** True if a later record of the same id has replaced this input. The result of the later record answers both. */
  superseded: boolean;
  /** True if the input timed out: its records are answered without a price, and the price follows later. */
  postponed: boolean;
}

export interface Batch {
  readonly kind: PriceKind;
  readonly questions: readonly AskedInstrument[];
  /** In the order of the questions; some inputs have no question. Empty for a refresh. */
  readonly inputs: readonly BatchInput[];
}

/** Answered questions of a batch, and the inputs that are committed with them. Some inputs have no question. */
export interface BatchPart extends Batch {
  readonly outcomes: readonly QuestionOutcome[];
}

export function nothingAsked(kind: PriceKind, inputs: readonly BatchInput[] = []): BatchPart {
  return { kind, questions: [], inputs, outcomes: [] };
}

const MOST_OPEN = 4;
/** A transaction with answers to this many questions takes no further answers. */
const MOST_COMMITTED = 2_000;

/** Batches of refreshes for one kind, until their commit. They answer no instrument records, so their order does not matter. */
export class RefreshBatches {
  readonly #open = new Map<Batch, number>();
  #answered: { readonly batch: Batch; readonly part: BatchPart }[] = [];

  isFull(maxItems: number): boolean {
    let questions = 0;
    for (const unanswered of this.#open.values()) questions += unanswered;
    return questions > (MOST_OPEN - 1) * maxItems;
  }

  /** @param unanswered the number of questions that still await an answer; after a timeout, some are already answered. */
  add(batch: Batch, unanswered = batch.questions.length): void {
    this.#open.set(batch, unanswered);
  }

  /** The number of open batches with postponed inputs. Answers to these batches count as refreshes. */
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
