import type { BatchResponses } from '../batch-responses.ts';
import type { Batch, BatchPart } from './batch.ts';

/** Some are asked for while others are committed, or while one is repeated. */
const SHARED_OPEN = 4;
/** The same for instruments that are asked for alone: one that hangs holds up no other instrument. */
const ALONE_OPEN = 2;
/** Of one transaction, in questions. */
const MOST_COMMITTED = 2_000;

/**
 * The batches of one kind that answer no record: from when they are asked for until all of their answers are taken, to be
 * committed. They need no order: what is answered of any of them may be committed at once.
 */
export class RefreshBatches {
  /** With how many of their questions were not taken yet. */
  readonly #open = new Map<Batch, number>();
  #answered: { readonly batch: Batch; readonly part: BatchPart }[] = [];

  /** Whether no further one may be asked for. */
  isFull(isAlone: boolean): boolean {
    const open = [...this.#open.keys()].filter((batch) => batch.isAlone === isAlone).length;
    return open >= (isAlone ? ALONE_OPEN : SHARED_OPEN);
  }

  /** @param unanswered how many of its questions are: fewer than it has, where it answered records before. */
  add(batch: Batch, unanswered = batch.questions.length): void {
    this.#open.set(batch, unanswered);
  }

  /** Of batches of records that wait for no answer any more: what comes of them is like a refresh. */
  get adopted(): number {
    return [...this.#open.keys()].filter(({ inputs }) => inputs.length > 0).length;
  }

  /** @param from the position of the first question that is answered. */
  answered(batch: Batch, from: number, answers: BatchResponses): void {
    const questions = batch.questions.slice(from, from + answers.outcomes.length);
    this.#answered.push({ batch, part: { kind: batch.kind, questions, inputs: [], answers } });
  }

  /** What is answered, as much as one transaction takes. */
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
