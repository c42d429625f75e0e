import { ConnectorError, type ErrorAction } from '../errors.ts';
import type { Events } from '../observe/events.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { Pulse } from '../support/pulse.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { BulkPrices, PriceKind, PriceQuestion, QuestionOutcome } from './bulk-prices.ts';
import { type Call, CallQueue, type QueuedQuestion } from './core/call-queue.ts';

/** After an error with one of these actions, the queue may repeat the call. An error with a different action ends the batch. */
const PASSING: readonly ErrorAction[] = ['retry', 'retrySlowly', 'askForLess'];

export interface BulkCallerOptions {
  readonly prices: BulkPrices;
  /** The most questions (instruments to price) in one call. If calls of this size fail, the caller learns a lower limit. */
  readonly maxItems: number;
  readonly concurrency: number;
  /** How long a small batch waits for batches of other partitions, to share a call; 0 means no wait. */
  readonly togetherMs: number;
  /**
   * Returns products outside the batch. After a failed call, calls for single products of this sample test if the provider
   * answers. If the provider refuses all products of the sample, the batch fails. Without this function, calls repeat.
   */
  readonly sampleOthers?: () => readonly PriceQuestion[];
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Pick<Events, 'batchBisected' | 'batchLimitLearnt' | 'bulkAnswered' | 'bulkAttemptFailed'>;
}

export interface AskedBatch {
  readonly kind: PriceKind;
  /** An isin occurs at most once. */
  readonly questions: readonly PriceQuestion[];
  /** False after the instrument at this position was deleted or got another isin. Later calls omit the instrument. */
  readonly isWanted: (at: number) => boolean;
}

type Answered = (positions: readonly number[], outcomes: readonly QuestionOutcome[]) => void;

/** Makes bulk calls until each question (an instrument to price) has an outcome. One caller serves all partitions. */
export class BulkCaller {
  readonly #options: BulkCallerOptions;
  readonly #kinds = new Map<PriceKind, KindCalls>();

  constructor(options: BulkCallerOptions) {
    this.#options = options;
  }

  maxItems(kind: PriceKind): number {
    return this.#callsOf(kind).maxItems;
  }

  /** Resolves when each question has its outcome. @throws the signal's reason, or an error that ends the batch. */
  ask(batch: AskedBatch, answered: Answered, signal: AbortSignal): Promise<void> {
    return this.#callsOf(batch.kind).ask(batch, answered, signal);
  }

  #callsOf(kind: PriceKind): KindCalls {
    const calls = this.#kinds.get(kind) ?? new KindCalls(kind, this.#options);
    this.#kinds.set(kind, calls);
    return calls;
  }
}

interface Run {
  readonly batch: AskedBatch;
  readonly answered: Answered;
  readonly ended: PromiseWithResolvers<void>;
  isOver: boolean;
  unanswered: number;
}

/** A question. `run` is null for a product outside all batches. A call for such a product only tests if the provider answers. */
class BatchQuestion implements QueuedQuestion {
  readonly question: PriceQuestion;
  readonly run: Run | null;
  readonly at: number;

  constructor(question: PriceQuestion, run: Run | null = null, at = 0) {
    this.question = question;
    this.run = run;
    this.at = at;
  }

  isWanted(): boolean {
    return this.run === null || (!this.run.isOver && this.run.batch.isWanted(this.at));
  }
}

class KindCalls {
  readonly #kind: PriceKind;
  readonly #options: BulkCallerOptions;
  readonly #queue: CallQueue<BatchQuestion>;
  readonly #changed = new Pulse();
  readonly #inFlight = new Map<Call<BatchQuestion>, AbortController>();
  readonly #never = new AbortController().signal;
  readonly #runs = new Set<Run>();
  #answeredLast: readonly PriceQuestion[] = [];
  #isWorking = false;

  constructor(kind: PriceKind, options: BulkCallerOptions) {
    const { sampleOthers } = options;
    this.#kind = kind;
    this.#options = options;
    this.#queue = new CallQueue({
      ...options,
      kind,
      // The provider may refuse all products of the sample. So a product of the last answered call is tested first.
      witnesses:
        sampleOthers &&
        (() => [...this.#answeredLast, ...sampleOthers()].map((question) => new BatchQuestion(question))),
      ended: (asked, outcome) => this.#handOn(asked, () => outcome),
      gaveUp: (error) => this.#gaveUp(error),
    });
  }

  get maxItems(): number {
    return this.#queue.maxItems(this.#options.clock.monotonicMs());
  }

  async ask(batch: AskedBatch, answered: Answered, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    signal.throwIfAborted();
    const ended = Promise.withResolvers<void>();
    const unanswered = batch.questions.length;
    const run: Run = { batch, answered, ended, isOver: false, unanswered };
    this.#runs.add(run);
    this.#queue.put(
      batch.questions.map((question, at) => new BatchQuestion(question, run, at)),
      clock.monotonicMs(),
    );
    this.#changed.notify();
    if (!this.#isWorking) void this.#work();
    try {
      await untilAborted(ended.promise, signal);
    } finally {
      this.#end(run);
    }
  }

  async #work(): Promise<void> {
    const { clock } = this.#options;
    this.#isWorking = true;
    while (!this.#queue.isEmpty) {
      for (let call = this.#queue.next(clock.monotonicMs()); call; call = this.#queue.next(clock.monotonicMs())) {
        void this.#make(call);
      }
      if (this.#queue.isEmpty) break;
      const nowMs = clock.monotonicMs();
      await this.#changed.within(Math.max(0, this.#queue.nextMs(nowMs) - nowMs), clock, this.#never);
    }
    this.#isWorking = false;
  }

  async #make(call: Call<BatchQuestion>): Promise<void> {
    const { prices, clock, events } = this.#options;
    const { asked } = call.group;
    const runs = new Set(asked.map(({ run }) => run));
    const aborting = new AbortController();
    this.#inFlight.set(call, aborting);
    try {
      const questions = asked.map(({ question }) => question);
      const { answers, ...counts } = await prices.ask(this.#kind, questions, aborting.signal, call.timeoutMs);
      const nowMs = clock.monotonicMs();
      events.bulkAnswered({ kind: this.#kind, items: asked.length, durationMs: nowMs - call.sentMs, ...counts });
      this.#answeredLast = questions.slice(0, 1);
      this.#handOn(asked, (at) => answers[at]);
      this.#queue.answered(call, nowMs);
    } catch (error) {
      if (!aborting.signal.aborted && error instanceof ConnectorError && PASSING.includes(error.action)) {
        this.#queue.failed(call, error, clock.monotonicMs());
      } else {
        this.#queue.abandoned(call);
        for (const run of runs) run?.ended.reject(error);
      }
    } finally {
      this.#inFlight.delete(call);
      this.#changed.notify();
    }
  }

  #handOn(asked: readonly BatchQuestion[], outcomeAt: (at: number) => QuestionOutcome | undefined): void {
    const parts = new Map<Run, { readonly positions: number[]; readonly outcomes: QuestionOutcome[] }>();
    for (const [at, { run, at: position }] of asked.entries()) {
      const outcome = outcomeAt(at);
      if (run === null || run.isOver || outcome === undefined) continue;
      const part = parts.get(run) ?? { positions: [], outcomes: [] };
      parts.set(run, part);
      part.positions.push(position);
      part.outcomes.push(outcome);
    }
    for (const [run, { positions, outcomes }] of parts) {
      run.unanswered -= positions.length;
      run.answered(positions, outcomes);
      if (run.unanswered === 0) run.ended.resolve();
    }
  }

  #end(run: Run): void {
    run.isOver = true;
    this.#runs.delete(run);
    if (run.unanswered === 0) return;
    this.#queue.sweep();
    for (const [call, aborting] of this.#inFlight) {
      if (call.group.asked.every((one) => one.run === null || one.run.isOver)) aborting.abort();
    }
    this.#changed.notify();
  }

  #gaveUp({ code, message, fields, cause }: ConnectorError): void {
    const text = `The provider refused all products of a request and of a sample. Expected an answer for at least one product: ${message}`;
    for (const run of this.#runs) run.ended.reject(new ConnectorError(code, text, { cause, fields }));
  }
}
