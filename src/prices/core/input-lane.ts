import type { QuestionOutcome } from '../bulk-prices.ts';
import { type Batch, type BatchInput, type BatchPart, type Input, nothingAsked } from './batch.ts';
import type { PartitionCoreSettings } from './core-messages.ts';
import type { AskedInstrument } from './instrument.ts';
import type { KindLane } from './kind-lane.ts';

const BATCHES_IN_FLIGHT = 2;

interface OpenBatch {
  readonly batch: Batch;
  readonly outcomes: (QuestionOutcome | undefined)[];
  takenInputs: number;
  takenQuestions: number;
}

/**
 * Keeps each record of the instruments topic until a result for one kind of prices answers the record. Requests and
 * commits keep the order of the topic, so that all records below the committed offset are answered. Calls for other kinds
 * delay no record. After `answerWithinMs`, a record is answered without its price, and the price is requested as a refresh.
 * If the process restarts before this request, the price is requested in the refresh slot of the instrument.
 */
export class InputLane {
  readonly #lane: KindLane;
  readonly #settings: Pick<PartitionCoreSettings, 'lingerMs' | 'answerWithinMs'>;
  /**
   * Inputs (records of one id that await a result) that are in no batch yet, oldest first. A later record of the same
   * id moves the input to the end of the queue, because results are committed in the order of offsets. In another order,
   * a crash would repeat an answer.
   */
  readonly #queue = new Map<string, Input>();
  readonly #open: OpenBatch[] = [];
  #oldestMs = Number.POSITIVE_INFINITY;

  constructor(lane: KindLane, settings: Pick<PartitionCoreSettings, 'lingerMs' | 'answerWithinMs'>) {
    this.#lane = lane;
    this.#settings = settings;
  }

  has(id: string): boolean {
    return this.#queue.has(id);
  }

  /** Adds a record. If an input of the same id is in flight and its answer becomes useless, the record supersedes this input. */
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
    const { offset, ...input } = record;
    const [superseded, earlier] = [isStale ? asked.input : null, this.#queue.get(id)];
    const waitsSinceMs = superseded?.waitsSinceMs ?? earlier?.waitsSinceMs ?? input.waitsSinceMs;
    const offsets = [...(superseded?.offsets ?? []), ...(earlier?.offsets ?? []), offset];
    this.#queue.delete(id);
    this.#queue.set(id, { ...input, waitsSinceMs, offsets });
    this.#oldestMs = Math.min(this.#oldestMs, record.waitsSinceMs);
  }

  /** Takes inputs from the front of the queue. Stops at an instrument in flight: its answer must be committed first. */
  nextBatch(nowMs: number): Batch | null {
    while (this.#mayAsk) {
      const taken = this.#mayBeTaken(nowMs) ? this.#take() : [];
      if (taken.length === 0) return null;
      const questions = taken.flatMap(({ meaning }) => (meaning.kind === 'price' ? meaning.instrument : []));
      const inputs = taken.map((input): BatchInput => ({ input, superseded: false, postponed: false }));
      const batch: Batch = { kind: this.#lane.kind, questions, inputs };
      for (const input of inputs) {
        if (input.input.meaning.kind === 'price') this.#lane.putInFlight(input.input.id, input);
      }
      const outcomes = questions.map(() => undefined);
      this.#open.push({ batch, outcomes, takenInputs: 0, takenQuestions: 0 });
      if (questions.length > 0) return batch;
    }
    return null;
  }

  nextMs(): number {
    const first = this.#first;
    const mayTake = first !== undefined && this.#mayAsk && !this.#lane.isInFlight(first.id);
    return mayTake ? first.readAtMs + this.#settings.lingerMs : Number.POSITIVE_INFINITY;
  }

  /** No record times out before this moment. The moment excludes the time of commits, as `freeMs` does (`takeAnswered`). */
  nextOverdueMs(): number {
    return this.#oldestMs + this.#answerWithinMs;
  }

  answered(batch: Batch, positions: readonly number[], outcomes: readonly QuestionOutcome[]): void {
    const open = this.#open.find((candidate) => candidate.batch === batch);
    if (open === undefined) {
      this.#lane.refreshes.answered(batch, positions, outcomes);
      return;
    }
    for (const [at, position] of positions.entries()) open.outcomes[position] = outcomes[at];
  }

  /**
   * Takes answered inputs from the front, and all inputs up to the last input that timed out.
   *
   * @param freeMs the current time minus the time of all commits.
   */
  takeAnswered(freeMs: number): BatchPart[] {
    const overdue = this.#overdue(freeMs);
    const parts: BatchPart[] = [];
    for (const [at, open] of [...this.#open.entries()]) {
      if (at < overdue.batches) this.#postpone(open);
      const part = takeFrom(open);
      if (part.inputs.length > 0) parts.push(part);
      if (open.takenInputs < open.batch.inputs.length) break;
      this.#open.shift();
    }
    let left = overdue.inputs;
    const late = this.#takeWhile(() => left-- > 0);
    const inputs = late.map((input): BatchInput => ({ input, superseded: false, postponed: true }));
    if (inputs.length > 0) parts.push(nothingAsked(this.#lane.kind, inputs));
    return parts;
  }

  firstUnanswered(): bigint | null {
    const [first] = this.#waiting();
    return first?.offsets.at(-1) ?? null;
  }

  /** Instruments that still await a price, although `offset` is above at least one of their records. */
  passedUnanswered(offset: bigint): AskedInstrument[] {
    return [...this.#waiting()].flatMap(({ offsets, meaning }) =>
      meaning.kind === 'price' && (offsets[0] ?? offset) < offset ? meaning.instrument : [],
    );
  }

  /** False while two batches, or two postponed batches, are in flight. */
  get #mayAsk(): boolean {
    return this.#open.length < BATCHES_IN_FLIGHT && this.#lane.refreshes.adopted < BATCHES_IN_FLIGHT;
  }

  get #answerWithinMs(): number {
    return this.#lane.refreshes.adopted < BATCHES_IN_FLIGHT ? this.#settings.answerWithinMs : this.#settings.lingerMs;
  }

  *#waiting(): Iterable<Input> {
    for (const open of this.#open) yield* unansweredOf(open);
    yield* this.#queue.values();
  }

  /** Finds the last input that timed out. Returns the number of batches, and of queued inputs, up to this input. */
  #overdue(freeMs: number): { readonly batches: number; readonly inputs: number } {
    if (this.nextOverdueMs() > freeMs) return { batches: 0, inputs: 0 };
    const isOverdue = ({ waitsSinceMs }: Input) => waitsSinceMs + this.#answerWithinMs <= freeMs;
    const inputs = [...this.#queue.values()].findLastIndex(isOverdue) + 1;
    const batches =
      inputs > 0 ? this.#open.length : this.#open.findLastIndex((open) => unansweredOf(open).some(isOverdue)) + 1;
    this.#oldestMs = Number.POSITIVE_INFINITY;
    for (const { waitsSinceMs } of this.#waiting()) {
      if (waitsSinceMs + this.#answerWithinMs > freeMs) this.#oldestMs = Math.min(this.#oldestMs, waitsSinceMs);
    }
    return { batches, inputs };
  }

  /** Turns the unanswered inputs of a batch into a refresh. */
  #postpone({ batch, outcomes, takenInputs, takenQuestions }: OpenBatch): void {
    let at = takenQuestions;
    let unanswered = 0;
    for (const one of batch.inputs.slice(takenInputs)) {
      if (one.input.meaning.kind !== 'price' || outcomes[at++] !== undefined) continue;
      one.postponed = true;
      unanswered += 1;
      this.#lane.putInFlight(one.input.id, null);
    }
    if (unanswered > 0) this.#lane.refreshes.add(batch, unanswered);
  }

  get #first(): Input | undefined {
    return this.#queue.values().next().value;
  }

  #takeWhile(mayTake: (input: Input) => boolean): Input[] {
    const taken: Input[] = [];
    for (const input of this.#queue.values()) {
      if (!mayTake(input)) break;
      taken.push(input);
      this.#queue.delete(input.id);
    }
    return taken;
  }

  #mayBeTaken(nowMs: number): boolean {
    const first = this.#first;
    return (
      first !== undefined &&
      (this.#queue.size >= this.#lane.maxItems || first.readAtMs + this.#settings.lingerMs <= nowMs)
    );
  }

  #take(): Input[] {
    const isins = new Set<string>();
    const mayJoin = ({ isin }: AskedInstrument) => isins.size < isins.add(isin).size;
    let left = this.#lane.maxItems;
    return this.#takeWhile(({ id, meaning }) => {
      if (left-- <= 0 || this.#lane.isInFlight(id)) return false;
      return meaning.kind !== 'price' || mayJoin(meaning.instrument);
    });
  }
}

function unansweredOf({ batch, takenInputs }: OpenBatch): readonly Input[] {
  return batch.inputs.slice(takenInputs).flatMap(({ input, superseded }) => (superseded ? [] : input));
}

function takeFrom(open: OpenBatch): BatchPart {
  const { batch, outcomes, takenInputs } = open;
  const questions: AskedInstrument[] = [];
  const taken: QuestionOutcome[] = [];
  for (const { input, postponed } of batch.inputs.slice(takenInputs)) {
    if (input.meaning.kind === 'price') {
      const outcome = outcomes[open.takenQuestions];
      if (outcome === undefined && !postponed) break;
      open.takenQuestions += 1;
      if (outcome !== undefined) {
        questions.push(input.meaning.instrument);
        taken.push(outcome);
      }
    }
    open.takenInputs += 1;
  }
  const inputs = batch.inputs.slice(takenInputs, open.takenInputs);
  return { kind: batch.kind, questions, inputs, outcomes: taken };
}
