import { ConnectorError } from '../errors.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { BatchAnswers, QuestionOutcome } from './batch-answers.ts';
import { type BulkFailure, bulkFailureOf, callBackOff } from './bulk-failure.ts';
import { BulkLimits } from './bulk-limits.ts';
import type { BulkPrices, PriceAnswers, PriceKind, PriceQuestion } from './bulk-prices.ts';
import { CallSlots } from './call-slots.ts';

/** How long a batch may fail on the server's side, while others succeed, before it is taken for its items' doing. */
const PATIENCE_MS = 5 * 60_000;
/** The same for the parts of a batch that was. */
const PATIENCE_WITH_PARTS_MS = 10_000;
/** So many items refused alone, and nothing answered between: then it is rather our requests than the items. */
const REFUSALS_BELIEVED = 20;
/** So many items of a batch that never fit, one after the other: what is left of it is not taken apart any further. */
const MISFITS_BELIEVED = 20;
/** What each further refusal waits then: somebody has to look at the requests, and nobody is helped by thousands. */
const DOUBTED_BACK_OFF: BackOff = { initialMs: 60_000, maximumMs: 60_000 };

export interface BulkCallerOptions {
  readonly prices: BulkPrices;
  /** Items of one call at most, until the provider asks for less. */
  readonly maxItems: number;
  /** Calls in flight at a time. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Pick<ProcessorEvents, 'batchBisected' | 'batchLimitLearnt' | 'bulkAttemptFailed'>;
}

/** What the calls for one batch have cost and counted so far. */
type Tally = { -readonly [Name in Exclude<keyof BatchAnswers, 'outcomes' | 'askMs'>]: number };

interface Part {
  readonly kind: PriceKind;
  readonly questions: readonly PriceQuestion[];
  readonly patienceMs: number;
  readonly tally: Tally;
  /** Items of the batch whose answers did not fit even alone, since the last answer that did. */
  readonly misfits: { inARow: number };
  readonly signal: AbortSignal;
}

interface PartAnswers {
  readonly outcomes: readonly QuestionOutcome[];
  /** Whether one call answered it all. */
  readonly isWhole: boolean;
}

/**
 * Makes bulk calls until every question of a batch has its outcome: repeats what passes, halves what is refused or does
 * not fit until the item is found that is to blame (one of a thousand costs twenty calls), and learns how much the
 * provider takes at once. One for all partitions: they share its calls.
 */
export class BulkCaller {
  readonly #options: BulkCallerOptions;
  readonly #limits: BulkLimits;
  readonly #slots: CallSlots;
  #succeededAtMs = Number.NEGATIVE_INFINITY;
  /** Items that were refused alone since the last success. */
  #refusedAlone = 0;

  constructor(options: BulkCallerOptions) {
    this.#options = options;
    this.#limits = new BulkLimits(options.maxItems, options.clock);
    this.#slots = new CallSlots(options.concurrency);
  }

  maxItems(kind: PriceKind): number {
    return this.#limits.of(kind);
  }

  /**
   * @param questions each isin at most once.
   * @throws ConnectorError that no repetition mends, or the signal's reason.
   */
  async ask(kind: PriceKind, questions: readonly PriceQuestion[], signal: AbortSignal): Promise<BatchAnswers> {
    const startedMs = this.#options.clock.monotonicMs();
    const tally = { calls: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 };
    const { outcomes } = await this.#askPart({
      kind,
      questions,
      patienceMs: PATIENCE_MS,
      tally,
      misfits: { inARow: 0 },
      signal,
    });
    return { outcomes, ...tally, askMs: this.#options.clock.monotonicMs() - startedMs };
  }

  async #askPart(part: Part): Promise<PartAnswers> {
    const { kind, questions } = part;
    const limit = this.#limits.of(kind);
    if (questions.length > limit) return this.#askEach(part, chunks(questions, limit));
    const answer = await this.#callUntilAnswered(part);
    if (!(answer instanceof SplitNeeded)) return { outcomes: answer.answers, isWhole: true };
    const { failure } = answer;
    const status = failure.kind === 'refused' || failure.kind === 'failed' ? failure.status : null;
    if (questions.length === 1) {
      if (isMisfit(failure)) part.misfits.inARow += 1;
      else this.#refusedAlone += 1;
      return { outcomes: [{ kind: 'refused', status }], isWhole: false };
    }
    // Where nothing fits, each item would cost two calls, at every refresh, and find nothing.
    if (isMisfit(failure) && part.misfits.inARow >= MISFITS_BELIEVED) {
      return { outcomes: questions.map(() => ({ kind: 'refused', status })), isWhole: false };
    }
    const { batchBisected } = this.#options.events;
    batchBisected({ kind, items: questions.length, code: answer.error.code, status: statusOf(answer.error) });
    const halves = chunks(questions, Math.ceil(questions.length / 2));
    const patienceMs = failure.kind === 'failed' ? PATIENCE_WITH_PARTS_MS : part.patienceMs;
    const answered = await this.#askEach({ ...part, patienceMs }, halves);
    if (answered.isWhole && 'mayBeSize' in failure && failure.mayBeSize) this.#learn(kind, halves[0]?.length ?? 1);
    return { ...answered, isWhole: false };
  }

  /** Whole when each of the parts was. */
  async #askEach(part: Part, parts: readonly (readonly PriceQuestion[])[]): Promise<PartAnswers> {
    const outcomes: QuestionOutcome[] = [];
    let isWhole = true;
    for (const questions of parts) {
      const answered = await this.#askPart({ ...part, questions });
      outcomes.push(...answered.outcomes);
      isWhole &&= answered.isWhole;
    }
    return { outcomes, isWhole };
  }

  async #callUntilAnswered(part: Part): Promise<PriceAnswers | SplitNeeded> {
    const { kind, questions, signal } = part;
    const { clock, random, events } = this.#options;
    const sinceMs = clock.monotonicMs();
    for (let failures = 1; ; failures++) {
      try {
        return await this.#call(part);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ConnectorError)) throw error;
        const failure = bulkFailureOf(error);
        const mayBeDoubted = failure.kind === 'refused' && !isMisfit(failure) && failures === 1;
        const isDoubted = mayBeDoubted && this.#refusedAlone >= REFUSALS_BELIEVED;
        if (!isDoubted && this.#isToBeSplit(failure, part, sinceMs)) return new SplitNeeded(failure, error);
        const backOff = isDoubted ? DOUBTED_BACK_OFF : callBackOff(error);
        if (backOff === undefined) throw error;
        const waitMs = Math.max(error.retryAfterMs ?? 0, backOffMs(failures, backOff, random));
        events.bulkAttemptFailed({ kind, items: questions.length, failures, waitMs, err: error });
        await clock.sleep(waitMs, signal);
      }
    }
  }

  #isToBeSplit(failure: BulkFailure, { questions, patienceMs }: Part, sinceMs: number): boolean {
    if (failure.kind === 'refused') return true;
    if (failure.kind === 'tooMuch' && questions.length > 1) return true;
    if (failure.kind === 'denied') return false;
    const othersSucceed = this.#succeededAtMs > sinceMs;
    return othersSucceed && this.#options.clock.monotonicMs() - sinceMs >= patienceMs;
  }

  async #call({ kind, questions, tally, misfits, signal }: Part): Promise<PriceAnswers> {
    const { prices, clock } = this.#options;
    const answers = await this.#slots.use(() => {
      tally.calls += 1;
      return prices.ask(kind, questions, signal);
    }, signal);
    this.#succeededAtMs = clock.monotonicMs();
    this.#refusedAlone = 0;
    misfits.inARow = 0;
    tally.drift += answers.drift;
    tally.roundedNumbers += answers.roundedNumbers;
    tally.errorsFlagDiffers += answers.errorsFlagDiffers ? 1 : 0;
    return answers;
  }

  #learn(kind: PriceKind, maxItems: number): void {
    if (this.#limits.learn(kind, maxItems)) this.#options.events.batchLimitLearnt({ kind, maxItems });
  }
}

/** A call that was answered in a way that only its parts can be asked again. */
class SplitNeeded {
  readonly failure: BulkFailure;
  readonly error: ConnectorError;

  constructor(failure: BulkFailure, error: ConnectorError) {
    this.failure = failure;
    this.error = error;
  }
}

/** An answer came, and it was for something else: that says nothing of our request. */
function isMisfit(failure: BulkFailure): boolean {
  return failure.kind === 'refused' && failure.status === null;
}

function statusOf({ fields }: ConnectorError): number | null {
  return typeof fields.status === 'number' ? fields.status : null;
}

function chunks<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
