import { ConnectorError } from '../errors.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { divided, type Part } from './batch-parts.ts';
import type { BatchResponses, QuestionOutcome } from './batch-responses.ts';
import { type BulkFailure, bulkFailureOf, callBackOff, isMisfit, mayBeSize, statusOf } from './bulk-failure.ts';
import { BulkLimits, type RefusedCall } from './bulk-limits.ts';
import type { BulkPrices, PriceKind, PriceQuestion } from './bulk-prices.ts';
import { KindCalls } from './kind-calls.ts';
import { areRequestsDoubted, isAnyAnswered, spreadOver } from './other-items.ts';
import { SharedCalls } from './shared-calls.ts';

/** A batch that hangs or fails is divided into so many parts at a time: its good items wait for few rounds. */
const PARTS = 4;
/** Others that are asked for alone, to see whether it is the provider that hangs or fails. */
const SAMPLES = 2;
/** How long an instrument that was asked for alone, and has no neighbours to compare with, may fail while others do not. */
const PATIENCE_WITH_ONE_MS = 10_000;
/** After so many items in a row whose answers did not fit, the rest of the batch is not divided any further. */
const MISFITS_BELIEVED = 20;
/** The wait after each further refusal: a person has to look at the requests, and thousands more of them do not help. */
const DOUBTED_BACK_OFF: BackOff = { initialMs: 60_000, maximumMs: 60_000 };

export interface BulkCallerOptions {
  readonly prices: BulkPrices;
  /** Items of one call at most, until the provider asks for less. */
  readonly maxItems: number;
  /** Calls in flight at a time, for each kind. */
  readonly concurrency: number;
  /** How long the small batch of a partition waits for those of others, to share a call; 0: it shares none. */
  readonly togetherMs: number;
  /**
   * Others to ask for, one by one, where many items in a row were refused: when one of them is answered, the requests are
   * right, and the refused items are to blame. When all are refused, the batch is given up. None: each further refusal waits.
   */
  readonly sampleOthers?: () => readonly PriceQuestion[];
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Pick<ProcessorEvents, 'batchBisected' | 'batchLimitLearnt' | 'bulkAttemptFailed'>;
}

export interface AskedBatch {
  readonly kind: PriceKind;
  /** Each isin at most once. */
  readonly questions: readonly PriceQuestion[];
  /** A single item that is known to hang its call, or to make it fail: tried once and given up. */
  readonly isAlone: boolean;
}

/** Takes the answers to the questions from a position on. */
export type Answered = (from: number, answers: BatchResponses) => void;

/** What all parts of a batch have in common. */
interface Run extends AskedBatch {
  readonly calls: KindCalls;
  readonly shared: SharedCalls;
  /** None of its calls has failed: what may spoil calls shares none. */
  mayShare: boolean;
  readonly startedMs: number;
  readonly answered: Answered;
  readonly signal: AbortSignal;
  /** Calls since answers were last handed on. */
  unreportedCalls: number;
  /** Items whose answers did not fit even alone, since the last answer that did. */
  misfitsInARow: number;
  /** Items that were found to be to blame. */
  culprits: number;
}

/** A call that was not answered. */
interface Failed {
  readonly askedMs: number;
  readonly failure: BulkFailure;
  readonly error: ConnectorError;
}

/**
 * Makes bulk calls until every question of a batch has its outcome, and hands on what is answered as it comes: repeats
 * what passes, divides what is refused or does not fit, hangs or fails while others are answered, until the item is found
 * that is to blame, and learns how much the provider takes at once. One for all partitions: they share its calls.
 */
export class BulkCaller {
  readonly #options: BulkCallerOptions;
  readonly #limits: BulkLimits;
  readonly #calls = new Map<PriceKind, { readonly calls: KindCalls; readonly shared: SharedCalls }>();

  constructor(options: BulkCallerOptions) {
    this.#options = options;
    this.#limits = new BulkLimits(options.maxItems, options.clock);
  }

  maxItems(kind: PriceKind): number {
    return this.#limits.of(kind);
  }

  /**
   * Resolves when every question is answered.
   *
   * @throws ConnectorError that no repetition mends, or the signal's reason.
   */
  async ask(batch: AskedBatch, answered: Answered, signal: AbortSignal): Promise<void> {
    const { kind, questions } = batch;
    const startedMs = this.#options.clock.monotonicMs();
    const run: Run = {
      ...batch,
      ...this.#callsFor(kind),
      mayShare: !batch.isAlone,
      startedMs,
      answered,
      signal,
      unreportedCalls: 0,
      misfitsInARow: 0,
      culprits: 0,
    };
    await this.#askPart(run, { from: 0, questions, isSuspected: false });
  }

  #callsFor(kind: PriceKind) {
    const known = this.#calls.get(kind);
    if (known !== undefined) return known;
    const calls = new KindCalls(kind, this.#options);
    const shared = new SharedCalls({
      ...this.#options,
      calls,
      most: () => this.#limits.of(kind),
      onAnswered: (items) => this.#limits.answered(kind, items),
      onDivided: (items, error) =>
        this.#options.events.batchBisected({ kind, items, code: error.code, status: statusOf(error) }),
      onTooLarge: (largest, call) => this.#learn(kind, largest, call),
    });
    this.#calls.set(kind, { calls, shared });
    return { calls, shared };
  }

  /** @returns whether it was answered whole, by as few calls as the limit allows. */
  async #askPart(run: Run, part: Part): Promise<boolean> {
    const limit = this.#limits.of(run.kind);
    if (part.questions.length > limit) return this.#askInTurn(run, divided(part, limit));
    const sinceMs = this.#options.clock.monotonicMs();
    for (let failures = 1; ; failures++) {
      const failed = await this.#call(run, part);
      if (failed === null) return true;
      const isDoubted =
        failures === 1 && (await areRequestsDoubted(failed, { ...this.#options, ...run, asking: askingFor(run) }));
      if (!isDoubted && (await this.#isToBlame(run, part, failed.failure, { failures, sinceMs }))) {
        return this.#divide(run, part, failed);
      }
      await this.#backOff(run, part, failed, { failures, isDoubted });
    }
  }

  /** Null when it was answered. */
  async #call(run: Run, part: Part): Promise<Failed | null> {
    const { questions } = part;
    const role = run.isAlone ? 'alone' : part.isSuspected ? 'suspected' : 'usual';
    const askedMs = this.#options.clock.monotonicMs();
    const asking = askingFor(run);
    try {
      const asked = run.mayShare ? run.shared.ask(questions, asking) : run.calls.ask(questions, role, asking);
      const { answers, drift, roundedNumbers, errorsFlagDiffers } = await asked;
      run.misfitsInARow = 0;
      this.#limits.answered(run.kind, questions.length);
      this.#report(run, part, answers, { drift, roundedNumbers, errorsFlagDiffers: errorsFlagDiffers ? 1 : 0 });
      return null;
    } catch (error) {
      run.signal.throwIfAborted();
      run.mayShare = false;
      if (!(error instanceof ConnectorError)) throw error;
      return { askedMs, failure: bulkFailureOf(error), error };
    }
  }

  /** Whether some item, or the size, is the reason: then no repetition of the whole would help. */
  async #isToBlame(
    run: Run,
    part: Part,
    failure: BulkFailure,
    { failures, sinceMs }: { readonly failures: number; readonly sinceMs: number },
  ): Promise<boolean> {
    if (failure.kind === 'refused') return true;
    if (failure.kind === 'denied') return false;
    if (run.isAlone || (failure.kind === 'tooLarge' && part.questions.length > 1)) return true;
    const isTimeout = failure.kind === 'failed' && failure.isTimeout;
    // A server may stumble once.
    const mayStumble = !isTimeout && (!part.isSuspected || part.questions.length === 1);
    if (mayStumble && failures === 1) return false;
    const isProviderWell = await this.#answersOthers(run, part, sinceMs);
    if (isTimeout && !isProviderWell) run.calls.beMorePatient();
    return isProviderWell;
  }

  async #answersOthers(run: Run, part: Part, sinceMs: number): Promise<boolean> {
    const { clock, random } = this.#options;
    if (run.questions.length === 1) {
      return run.calls.hasSucceededSince(run.startedMs) && clock.monotonicMs() >= run.startedMs + PATIENCE_WITH_ONE_MS;
    }
    if (run.calls.hasSucceededSince(sinceMs)) return true;
    if (run.calls.isOutageBelieved) return false;
    const isOutside = (_: PriceQuestion, at: number) => at < part.from || at >= part.from + part.questions.length;
    const outside = run.questions.filter(isOutside);
    const others = outside.length > 0 ? outside : part.questions;
    const isAnswered = await isAnyAnswered(spreadOver(others, SAMPLES, random), run.calls, askingFor(run));
    if (!isAnswered) run.calls.sawOutage();
    return isAnswered;
  }

  async #divide(run: Run, part: Part, { askedMs, failure, error }: Failed): Promise<false> {
    const { kind, calls } = run;
    const { questions } = part;
    const status = failure.kind === 'refused' || failure.kind === 'failed' ? failure.status : null;
    // Where nothing fits, each item would cost two calls, at every refresh, and find nothing.
    const isEnough = isMisfit(failure) && run.misfitsInARow >= MISFITS_BELIEVED;
    if (questions.length === 1 || isEnough) {
      run.culprits += 1;
      if (isMisfit(failure)) run.misfitsInARow += 1;
      else calls.refusedAlone += failure.kind === 'refused' ? 1 : 0;
      this.#report(
        run,
        part,
        questions.map(() => ({ kind: 'refused', status })),
      );
      return false;
    }
    this.#options.events.batchBisected({ kind, items: questions.length, code: error.code, status: statusOf(error) });
    if (failure.kind !== 'failed') {
      const halves = divided(part, Math.ceil(questions.length / 2));
      if ((await this.#askInTurn(run, halves)) && mayBeSize(failure))
        this.#learn(kind, halves[0]?.questions.length ?? 1, { refused: questions.length, askedMs });
      return false;
    }
    const parts = divided({ ...part, isSuspected: true }, Math.ceil(questions.length / PARTS));
    const { culprits } = run;
    await Promise.all(parts.map((one) => this.#askPart(run, one)));
    if (failure.isTimeout && run.culprits === culprits) calls.beMorePatient();
    return false;
  }

  /** One after the other: where all are refused, not many are asked for before that is seen. */
  async #askInTurn(run: Run, parts: readonly Part[]): Promise<boolean> {
    let isWhole = true;
    for (const part of parts) isWhole = (await this.#askPart(run, part)) && isWhole;
    return isWhole;
  }

  async #backOff(
    { kind, signal }: Run,
    { questions }: Part,
    { error }: Failed,
    { failures, isDoubted }: { readonly failures: number; readonly isDoubted: boolean },
  ): Promise<void> {
    const { clock, random, events } = this.#options;
    const backOff = isDoubted ? DOUBTED_BACK_OFF : callBackOff(error);
    if (backOff === undefined) throw error;
    const waitMs = Math.max(error.retryAfterMs ?? 0, backOffMs(failures, backOff, random));
    events.bulkAttemptFailed({ kind, items: questions.length, failures, waitMs, err: error });
    await clock.sleep(waitMs, signal);
  }

  #report(
    run: Run,
    { from }: Part,
    outcomes: readonly QuestionOutcome[],
    counts = { drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 },
  ): void {
    const askMs = this.#options.clock.monotonicMs() - run.startedMs;
    run.answered(from, { outcomes, ...counts, calls: run.unreportedCalls, askMs });
    run.unreportedCalls = 0;
  }

  #learn(kind: PriceKind, maxItems: number, call: RefusedCall): void {
    if (this.#limits.learn(kind, maxItems, call)) this.#options.events.batchLimitLearnt({ kind, maxItems });
  }
}

function askingFor(run: Run) {
  const called = () => {
    run.unreportedCalls += 1;
  };
  return { called, signal: run.signal };
}
