import type { BatchAnswers, QuestionOutcome } from '../batch-answers.ts';
import type { Batch, BatchInput, BatchPart } from './batch.ts';
import { type Input, InputQueue } from './input-queue.ts';
import type { Instrument } from './instrument.ts';
import type { KindLane } from './kind-lane.ts';

/** One is asked for while the other is committed. */
const BATCHES_IN_FLIGHT = 2;
const NOTHING_ASKED = { calls: 0, askMs: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 };

type Tally = Omit<BatchAnswers, 'outcomes'>;

interface OpenBatch {
  readonly batch: Batch;
  /** By question; undefined where the answer has not come. */
  readonly outcomes: (QuestionOutcome | undefined)[];
  /** Of the answers since the last part was taken. */
  tally: Tally;
  takenInputs: number;
  takenQuestions: number;
}

/**
 * The records of the instruments topic, until each is answered by the prices of one kind: asked for in the order of the
 * topic and committed in that order, so that the committed offset says what is answered. Only what is in flight for that
 * kind can hold them up.
 */
export class InputLane {
  readonly #lane: KindLane;
  readonly #lingerMs: number;
  readonly #queue = new InputQueue();
  readonly #open: OpenBatch[] = [];

  constructor(lane: KindLane, lingerMs: number) {
    this.#lane = lane;
    this.#lingerMs = lingerMs;
  }

  has(id: string): boolean {
    return this.#queue.has(id);
  }

  /** A record that was read; it supersedes one of its id whose answer it makes worthless. */
  add(record: Omit<Input, 'offsets'> & { readonly offset: bigint }): void {
    const { id, meaning } = record;
    const asked = this.#lane.inputInFlight(id);
    const isStale =
      asked !== null &&
      (meaning.kind !== 'price' ||
        asked.input.meaning.kind !== 'price' ||
        asked.input.meaning.instrument.version !== meaning.instrument.version);
    if (isStale) {
      asked.superseded = true;
      this.#lane.putInFlight(id, null);
    }
    this.#queue.add(record, isStale ? asked.input.offsets : []);
  }

  /** Inputs from the front of the queue; an instrument that is in flight holds up those behind it until it is committed. */
  nextBatch(nowMs: number): Batch | null {
    while (this.#open.length < BATCHES_IN_FLIGHT) {
      const taken = this.#mayBeTaken(nowMs) ? this.#take() : [];
      if (taken.length === 0) return null;
      const questions = taken.flatMap(({ meaning }) => (meaning.kind === 'price' ? meaning.instrument : []));
      const inputs = taken.map((input): BatchInput => ({ input, superseded: false }));
      const isAlone = questions.some((instrument) => this.#lane.isSuspect(instrument));
      const batch: Batch = { kind: this.#lane.kind, questions, inputs, isAlone };
      for (const input of inputs) {
        if (input.input.meaning.kind === 'price') this.#lane.putInFlight(input.input.id, input);
      }
      const outcomes = questions.map(() => undefined);
      this.#open.push({ batch, outcomes, tally: NOTHING_ASKED, takenInputs: 0, takenQuestions: 0 });
      if (questions.length > 0) return batch;
    }
    return null;
  }

  /** When the next batch may be taken, as far as it is known now. */
  nextMs(): number {
    const { first } = this.#queue;
    const mayTake = first !== undefined && this.#open.length < BATCHES_IN_FLIGHT && !this.#lane.isInFlight(first.id);
    return mayTake ? first.readAtMs + this.#lingerMs : Number.POSITIVE_INFINITY;
  }

  /** @param from the position of the first question that is answered. */
  answered(batch: Batch, from: number, answers: BatchAnswers): void {
    const open = this.#open.find((candidate) => candidate.batch === batch);
    if (open === undefined) return;
    const { outcomes, ...tally } = answers;
    for (const [at, outcome] of outcomes.entries()) open.outcomes[from + at] = outcome;
    open.tally = sum(open.tally, tally);
  }

  /** All records from the first on that are answered. */
  takeAnswered(): BatchPart[] {
    const parts: BatchPart[] = [];
    for (const open of [...this.#open]) {
      const part = takeFrom(open);
      if (part.inputs.length > 0) parts.push(part);
      if (open.takenInputs < open.batch.inputs.length) break;
      this.#open.shift();
    }
    return parts;
  }

  /** The first record that is neither answered by what was taken nor by a later record; null when there is none. */
  firstUnanswered(): bigint | null {
    const waiting = this.#open.flatMap(({ batch, takenInputs }) => batch.inputs.slice(takenInputs));
    const first = waiting.find(({ superseded }) => !superseded)?.input ?? this.#queue.first;
    return first?.offsets.at(-1) ?? null;
  }

  #mayBeTaken(nowMs: number): boolean {
    const { first, size } = this.#queue;
    return first !== undefined && (size >= this.#lane.maxItems || first.readAtMs + this.#lingerMs <= nowMs);
  }

  /** One that spoils the calls that it shares comes in a batch without others. */
  #take(): Input[] {
    const isins = new Set<string>();
    let isAlone = false;
    const mayJoin = (instrument: Instrument) => {
      if (isAlone || isins.has(instrument.isin)) return false;
      isAlone = this.#lane.isSuspect(instrument);
      if (isAlone && isins.size > 0) return false;
      isins.add(instrument.isin);
      return true;
    };
    return this.#queue.takeWhile(this.#lane.maxItems, ({ id, meaning }) => {
      if (this.#lane.isInFlight(id)) return false;
      return meaning.kind !== 'price' || mayJoin(meaning.instrument);
    });
  }
}

function takeFrom(open: OpenBatch): BatchPart {
  const { batch, outcomes, takenInputs, takenQuestions, tally } = open;
  for (const { input } of batch.inputs.slice(takenInputs)) {
    const isAsked = input.meaning.kind === 'price';
    if (isAsked && outcomes[open.takenQuestions] === undefined) break;
    open.takenInputs += 1;
    if (isAsked) open.takenQuestions += 1;
  }
  if (open.takenInputs > takenInputs) open.tally = NOTHING_ASKED;
  const taken = outcomes.slice(takenQuestions, open.takenQuestions).filter((outcome) => outcome !== undefined);
  return {
    kind: batch.kind,
    questions: batch.questions.slice(takenQuestions, open.takenQuestions),
    inputs: batch.inputs.slice(takenInputs, open.takenInputs),
    answers: { ...tally, outcomes: taken },
  };
}

function sum(one: Tally, other: Tally): Tally {
  return {
    calls: one.calls + other.calls,
    askMs: Math.max(one.askMs, other.askMs),
    drift: one.drift + other.drift,
    roundedNumbers: one.roundedNumbers + other.roundedNumbers,
    errorsFlagDiffers: one.errorsFlagDiffers + other.errorsFlagDiffers,
  };
}
