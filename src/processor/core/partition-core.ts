import type { InstrumentFailing } from '../../observability/processor-events.ts';
import { backOffMs } from '../../support/back-off.ts';
import type { BatchAnswers } from '../batch-answers.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { Batch, BatchInput } from './batch.ts';
import { batchResults } from './batch-results.ts';
import type { CoreResult, CoreSettings, CoreStep, CoreTransaction, InstrumentNews } from './core-messages.ts';
import { type InputMeaning, InputQueue } from './input-queue.ts';
import { type Instrument, type Plan, planOf } from './instrument.ts';
import { InstrumentTable } from './instrument-table.ts';

/** Per lane: one is asked for while the other is committed. A batch that fails for long holds up no other lane. */
const BATCHES_IN_FLIGHT = 2;
const FIRST_BACK_OFF_MS = 10_000;
/** What is refused a place in a batch, because of another request for it, comes again after this. */
const REFUSED_MS = 100;
const NO_ANSWERS: BatchAnswers = {
  outcomes: [],
  calls: 0,
  askMs: 0,
  drift: 0,
  roundedNumbers: 0,
  errorsFlagDiffers: 0,
};

type Failure = Extract<CoreResult, { readonly kind: 'failure' }>;

/**
 * Decides for one partition what is asked next, what an answer means and what may be committed; without I/O or clock.
 * Thrown away with its writer: a new one begins from the committed offset.
 *
 * Batches of inputs answer records of the instruments topic and commit in the order of these, each with the offset of the
 * first record that is still unanswered: so each record is answered by exactly one committed result. Batches of refreshes
 * answer none, and commit whenever they are ready. An instrument is in one batch at a time, until that is committed: so
 * the prices of an instrument are written in the order in which they were asked for.
 */
export class PartitionCore {
  readonly #settings: CoreSettings;
  readonly #table: InstrumentTable;
  readonly #first: PriceKind;
  readonly #queue = new InputQueue();
  readonly #inputBatches: Batch[] = [];
  readonly #refreshBatches = new Set<Batch>();
  /** Ids in batches, with the input there that a later record may supersede; null where there is none, or no longer. */
  readonly #inFlight = new Map<string, BatchInput | null>();
  #position: bigint;
  #unanswered = 0;

  /** @param instruments the table up to `offset`: isin by id */
  constructor(
    settings: CoreSettings,
    start: { readonly offset: bigint; readonly instruments: Iterable<readonly [string, string]> },
    nowMs: number,
  ) {
    const [first] = settings.kinds;
    if (first === undefined) throw new RangeError('Nothing is asked for: settings.kinds is empty.');
    this.#settings = settings;
    this.#first = first.kind;
    this.#table = new InstrumentTable(settings.kinds, settings.epochMs);
    this.#position = start.offset;
    for (const [id, isin] of start.instruments) {
      for (const plan of this.#table.put(id, isin, nowMs).plans) {
        // Its record is answered: what the topic shows, if anything, is of this isin.
        plan.shown = 'own';
        this.#table.scheduleInSlot(plan, nowMs);
      }
    }
  }

  /** Everything below was read. */
  get position(): bigint {
    return this.#position;
  }

  /** Records that were read and are not answered by what is committed. */
  get unanswered(): number {
    return this.#unanswered;
  }

  get instruments(): { readonly size: number; values(): Iterable<Instrument> } {
    return this.#table;
  }

  /** Takes the record at an offset; those below the position were taken before. */
  read(offset: bigint, id: string, news: InstrumentNews, nowMs: number): void {
    if (offset < this.#position) return;
    this.#position = offset + 1n;
    this.#unanswered += 1;
    const meaning = this.#meaningOf(id, news, nowMs);
    const asked = this.#inFlight.get(id);
    const isStale =
      asked &&
      (meaning.kind !== 'price' ||
        asked.input.meaning.kind !== 'price' ||
        asked.input.meaning.instrument !== meaning.instrument);
    if (isStale) {
      asked.superseded = true;
      this.#inFlight.set(id, null);
    }
    this.#queue.add({ id, offset, readAtMs: nowMs, meaning }, isStale ? asked.input.offsets : []);
  }

  /** Everything below an offset was read, records or not. */
  passed(nextOffset: bigint): void {
    if (nextOffset > this.#position) this.#position = nextOffset;
  }

  next(nowMs: number): CoreStep {
    const batch = this.#inputBatch(nowMs) ?? this.#refreshBatch(nowMs);
    if (batch !== null && batch.answers === null) return { kind: 'ask', batch };
    const transaction = this.#transaction();
    if (transaction !== null) return { kind: 'commit', transaction };
    return { kind: 'wait', ms: Math.max(0, this.#nextMs() - nowMs) };
  }

  answered(batch: Batch, answers: BatchAnswers): void {
    batch.answers = answers;
  }

  /**
   * To be told once the transaction is committed.
   *
   * @returns the instruments that began to fail, or fail with another problem than before.
   */
  committed({ batch, results }: CoreTransaction, nowMs: number): InstrumentFailing[] {
    const failing: InstrumentFailing[] = [];
    if (this.#inputBatches[0] === batch) this.#inputBatches.shift();
    this.#refreshBatches.delete(batch);
    for (const { id } of batch.questions) this.#inFlight.delete(id);
    for (const result of results) {
      if (result.kind === 'dropped') continue;
      this.#unanswered -= result.offsets.length;
      if (result.kind !== 'prices' && result.kind !== 'failure') continue;
      const plan = planOf(result.instrument, batch.kind);
      if (result.kind === 'prices') this.#priced(plan, result.answer.isQuotingPulled === true, nowMs);
      else failing.push(...this.#failed(plan, result, nowMs));
    }
    return failing;
  }

  #meaningOf(id: string, news: InstrumentNews, nowMs: number): InputMeaning {
    if (news.kind === 'live' && news.isin !== null) {
      const isNew = !this.#table.has(id, news.isin);
      const instrument = this.#table.put(id, news.isin, nowMs);
      for (const plan of instrument.plans) {
        if (plan.kind === this.#first) this.#table.unschedule(plan);
        else if (isNew) this.#table.scheduleAt(plan, nowMs + this.#settings.lingerMs);
      }
      return { kind: 'price', instrument };
    }
    this.#table.delete(id);
    return news.kind === 'live' ? { kind: 'noIsin' } : news;
  }

  /** Inputs from the front of the queue; an instrument that is in flight holds up those behind it until it is committed. */
  #inputBatch(nowMs: number): Batch | null {
    const { lingerMs, maxItems } = this.#settings;
    const first = this.#queue.first;
    if (first === undefined || this.#inputBatches.length >= BATCHES_IN_FLIGHT) return null;
    const most = maxItems(this.#first);
    if (this.#queue.size < most && first.readAtMs + lingerMs > nowMs) return null;
    const isins = new Set<string>();
    const taken = this.#queue.takeWhile(most, ({ id, meaning }) => {
      if (this.#inFlight.has(id)) return false;
      if (meaning.kind !== 'price') return true;
      const isNew = !isins.has(meaning.instrument.isin);
      isins.add(meaning.instrument.isin);
      return isNew;
    });
    if (taken.length === 0) return null;
    const questions: Instrument[] = [];
    const inputs = taken.map((input): BatchInput => {
      const question = input.meaning.kind === 'price' ? questions.push(input.meaning.instrument) - 1 : null;
      return { input, question, superseded: false };
    });
    const batch: Batch = { kind: this.#first, questions, inputs, answers: questions.length === 0 ? NO_ANSWERS : null };
    for (const input of inputs) if (input.question !== null) this.#inFlight.set(input.input.id, input);
    this.#inputBatches.push(batch);
    return batch;
  }

  #refreshBatch(nowMs: number): Batch | null {
    for (const { kind } of this.#settings.kinds) {
      if (this.#refreshesInFlight(kind) >= BATCHES_IN_FLIGHT) continue;
      const isins = new Set<string>();
      const questions = this.#table.takeDue(kind, {
        nowMs,
        most: this.#settings.maxItems(kind),
        refusedMs: REFUSED_MS,
        mayTake: ({ id, isin }) => {
          if (this.#inFlight.has(id) || isins.has(isin)) return false;
          isins.add(isin);
          return true;
        },
      });
      if (questions.length === 0) continue;
      const batch: Batch = { kind, questions, inputs: [], answers: null };
      for (const { id } of questions) this.#inFlight.set(id, null);
      this.#refreshBatches.add(batch);
      return batch;
    }
    return null;
  }

  #refreshesInFlight(kind: PriceKind): number {
    return [...this.#refreshBatches].filter((batch) => batch.kind === kind).length;
  }

  /** The first batch of inputs, once it is answered, or any answered batch of refreshes. */
  #transaction(): CoreTransaction | null {
    const [inputs] = this.#inputBatches;
    const batch = inputs?.answers ? inputs : [...this.#refreshBatches].find(({ answers }) => answers !== null);
    if (!batch?.answers) return null;
    const holds = (instrument: Instrument) => this.#table.holds(instrument);
    const results = batchResults(batch, batch.answers, { holds, told: this.#settings.told });
    // What is being written can no longer be superseded.
    for (const { id } of batch.questions) this.#inFlight.set(id, null);
    return { batch, results, offset: batch === inputs ? this.#firstUnanswered() : null };
  }

  /** Where a restart would have to begin, were the first batch of inputs committed. */
  #firstUnanswered(): bigint {
    const waiting = this.#inputBatches.slice(1).flatMap(({ inputs }) => inputs);
    const first = waiting.find(({ superseded }) => !superseded)?.input ?? this.#queue.first;
    return first?.offsets.at(-1) ?? this.#position;
  }

  #nextMs(): number {
    const { kinds, lingerMs } = this.#settings;
    const first = this.#queue.first;
    const mayTake =
      first !== undefined && this.#inputBatches.length < BATCHES_IN_FLIGHT && !this.#inFlight.has(first.id);
    const refreshes = kinds.map(({ kind }) =>
      this.#refreshesInFlight(kind) < BATCHES_IN_FLIGHT ? this.#table.nextDueMs(kind) : Number.POSITIVE_INFINITY,
    );
    return Math.min(mayTake ? first.readAtMs + lingerMs : Number.POSITIVE_INFINITY, ...refreshes);
  }

  #priced(plan: Plan, pulled: boolean, nowMs: number): void {
    plan.pricedAtMs = nowMs;
    plan.pulled = pulled;
    plan.failures = 0;
    plan.problem = null;
    plan.shown = 'own';
    if (this.#mayRefresh(plan)) this.#table.scheduleInSlot(plan, nowMs);
  }

  #failed(plan: Plan, { problem, withdrawal }: Failure, nowMs: number): InstrumentFailing[] {
    const { told, maxBackoffMs, random, kinds } = this.#settings;
    const { kind, instrument } = plan;
    const intervalMs = kinds.find((settings) => settings.kind === kind)?.refreshIntervalMs ?? maxBackoffMs;
    told.add(kind, instrument.id, problem);
    const isNews = plan.problem !== problem;
    plan.failures += 1;
    plan.problem = problem;
    if (withdrawal !== null) plan.shown = 'nothing';
    const backOff = { initialMs: Math.min(FIRST_BACK_OFF_MS, intervalMs, maxBackoffMs), maximumMs: maxBackoffMs };
    const nextTryMs = backOffMs(plan.failures, backOff, random);
    if (this.#mayRefresh(plan)) this.#table.scheduleAt(plan, nowMs + nextTryMs);
    return isNews ? [{ kind, instrumentId: instrument.id, problem, failures: plan.failures, nextTryMs }] : [];
  }

  /** An instrument that waits in the queue is asked for there, and one that has left not at all. */
  #mayRefresh(plan: Plan): boolean {
    const { instrument, kind } = plan;
    return this.#table.holds(instrument) && !(kind === this.#first && this.#queue.has(instrument.id));
  }
}
