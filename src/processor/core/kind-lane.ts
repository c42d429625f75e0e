import type { InstrumentFailing, PriceProblem } from '../../observability/processor-events.ts';
import { backOffMs } from '../../support/back-off.ts';
import type { PriceKind } from '../bulk-prices.ts';
import type { Batch, BatchInput } from './batch.ts';
import type { PartitionCoreSettings, Withdrawal } from './core-messages.ts';
import { DueQueue } from './due-queue.ts';
import { type AskedInstrument, planOf } from './instrument.ts';
import type { InstrumentTable } from './instrument-table.ts';
import { RefreshBatches } from './refresh-batches.ts';
import type { RefreshPlan } from './refresh-plan.ts';
import { RefreshSlots } from './refresh-slots.ts';

const FIRST_BACK_OFF_MS = 10_000;
/** What was repaid long ago is asked for so often: its price hardly changes any more, and most have none. */
const REPAID_INTERVAL_MS = 86_400_000;
/** A clock that is set back by less changes nothing that matters: days count. */
const CLOCK_CORRECTED_MS = 3_600_000;
/** So many answers, each to a call for it alone, clear an instrument that has spoilt a call. */
const SUSPICION = 3;
/** If more instruments spoil their calls, the provider is the likely cause, and asking for each alone would not help. */
const MOST_SUSPECTS = 50;

/** What the answers to an instrument mean: it has prices, or why it has none. */
export type Verdict =
  | { readonly kind: 'priced'; readonly isPulled: boolean }
  /** `isCulprit`: it is the one that spoilt a call. */
  | {
      readonly kind: 'failed';
      readonly problem: PriceProblem;
      readonly withdrawal: Withdrawal | null;
      readonly isCulprit: boolean;
    };

/**
 * One kind of prices for one partition: when each instrument is asked for, and what is in flight. Lanes share nothing, so
 * that one whose calls are refused, fail or hang for hours changes nothing for another.
 */
export class KindLane {
  readonly kind: PriceKind;
  readonly refreshes = new RefreshBatches();
  readonly #intervalMs: number;
  readonly #settings: PartitionCoreSettings;
  readonly #table: InstrumentTable;
  readonly #slots: RefreshSlots;
  readonly #repaidSlots: RefreshSlots;
  readonly #due = new DueQueue();
  readonly #dueAlone = new DueQueue();
  /** Ids in batches, with the input there that a later record may supersede; null where there is none, or no longer. */
  readonly #inFlight = new Map<string, BatchInput | null>();
  #suspects = 0;
  #dividedMs = Number.NEGATIVE_INFINITY;
  #dividedSize = 0;
  /** By which what counts as repaid was put into its slots. */
  #epochMs = Number.NEGATIVE_INFINITY;

  constructor(
    { kind, refreshIntervalMs }: PartitionCoreSettings['kinds'][number],
    settings: PartitionCoreSettings,
    { table, phase }: { readonly table: InstrumentTable; readonly phase: number },
  ) {
    this.kind = kind;
    this.#intervalMs = refreshIntervalMs;
    this.#settings = settings;
    this.#table = table;
    const { epochMs } = settings;
    this.#slots = new RefreshSlots({ intervalMs: refreshIntervalMs, epochMs, phase });
    this.#repaidSlots = new RefreshSlots({
      intervalMs: Math.max(refreshIntervalMs, REPAID_INTERVAL_MS),
      epochMs,
      phase,
    });
  }

  get maxItems(): number {
    return this.#settings.maxItems(this.kind);
  }

  isSuspect(instrument: AskedInstrument): boolean {
    return planOf(instrument, this.kind).suspicion > 0;
  }

  isInFlight(id: string): boolean {
    return this.#inFlight.has(id);
  }

  /** The input of an id that is asked for and may be superseded. */
  inputInFlight(id: string): BatchInput | null {
    return this.#inFlight.get(id) ?? null;
  }

  /** `input`: what the answer answers, for as long as a later record may supersede it. */
  putInFlight(id: string, input: BatchInput | null): void {
    this.#inFlight.set(id, input);
  }

  /** In the slot of an instrument that shares its calls; after a start, as if it had been asked for in its last one. */
  scheduleInSlot(row: number, nowMs: number): void {
    const slots = this.#isRepaid(row, nowMs) ? this.#repaidSlots : this.#slots;
    this.#due.put(row, slots.next(this.#table.hashAt(row), nowMs));
  }

  schedule(instrument: AskedInstrument, dueMs: number): void {
    const plan = planOf(instrument, this.kind);
    (plan.suspicion > 0 ? this.#dueAlone : this.#due).put(plan.row, dueMs);
  }

  unschedule({ row }: AskedInstrument): void {
    this.#dueAlone.remove(row);
    this.#due.remove(row);
  }

  /** The instrument has left the table. */
  forget(instrument: AskedInstrument): void {
    this.unschedule(instrument);
    this.#suspect(planOf(instrument, this.kind), 0);
  }

  /** Keeps the slots as many as full batches are needed; what is due comes when it was due. */
  divide(nowMs: number): void {
    const { size } = this.#table;
    if (nowMs < this.#dividedMs + this.#intervalMs && size <= 2 * this.#dividedSize) return;
    this.#dividedMs = nowMs;
    this.#dividedSize = size;
    this.#followClock(nowMs);
    // What was repaid long ago has slots of its own: with it, those of the others would be many and nearly empty.
    const hashes = (isRepaid: boolean) => this.#table.hashes((row) => this.#isRepaid(row, nowMs) === isRepaid);
    this.#slots.fit(hashes(false), this.maxItems);
    this.#repaidSlots.fit(hashes(true), this.maxItems);
  }

  nextBatch(nowMs: number): Batch | null {
    return this.#take(this.#dueAlone, 1, nowMs) ?? this.#take(this.#due, this.maxItems, nowMs);
  }

  /** When the next batch may be taken, as far as it is known now. */
  nextMs(): number {
    const firstMs = (queue: DueQueue) =>
      this.refreshes.isFull(queue === this.#dueAlone) ? Number.POSITIVE_INFINITY : queue.firstMs;
    const ms = Math.min(firstMs(this.#due), firstMs(this.#dueAlone));
    // Where nothing but what is repaid is left, the next slot is far: the clock by which it is may be corrected before.
    return ms === Number.POSITIVE_INFINITY ? ms : Math.min(ms, this.#dividedMs + 2 * this.#intervalMs);
  }

  /** Its answer is committed. */
  release(id: string): void {
    this.#inFlight.delete(id);
  }

  /** @returns what to report, where it began to fail or fails with another problem than before. */
  judge(instrument: AskedInstrument, verdict: Verdict, nowMs: number, mayRefresh: boolean): InstrumentFailing[] {
    const plan = planOf(instrument, this.kind);
    if (verdict.kind === 'failed') return this.#failed(instrument, verdict, nowMs, mayRefresh);
    plan.isPriced = true;
    plan.sinceMs = nowMs;
    plan.pulled = verdict.isPulled;
    plan.failures = 0;
    plan.problem = null;
    plan.shown = 'own';
    this.#suspect(plan, Math.max(0, plan.suspicion - 1));
    const slots = this.#isRepaid(instrument.row, nowMs) ? this.#repaidSlots : this.#slots;
    if (mayRefresh) this.schedule(instrument, slots.nextAfterAnswer(this.#table.hashAt(instrument.row), nowMs));
    return [];
  }

  /** Its record is answered without its price, which is asked for at once, unless it is on its way. */
  owe(instrument: AskedInstrument, withdrawal: Withdrawal | null, nowMs: number, mayRefresh: boolean): void {
    if (withdrawal !== null) planOf(instrument, this.kind).shown = 'nothing';
    if (mayRefresh && !this.isInFlight(instrument.id)) this.schedule(instrument, nowMs);
  }

  isScheduled({ row }: AskedInstrument): boolean {
    return this.#due.has(row) || this.#dueAlone.has(row);
  }

  #failed(
    instrument: AskedInstrument,
    verdict: Verdict & { readonly kind: 'failed' },
    nowMs: number,
    mayRefresh: boolean,
  ): InstrumentFailing[] {
    const { reported, maxBackoffMs, random } = this.#settings;
    const { kind } = this;
    const plan = planOf(instrument, kind);
    const { problem, withdrawal, isCulprit } = verdict;
    reported.add(kind, instrument.id, problem);
    const isNews = plan.problem !== problem;
    plan.failures += 1;
    plan.problem = problem;
    if (withdrawal !== null) plan.shown = 'nothing';
    if (isCulprit && (plan.suspicion > 0 || this.#suspects < MOST_SUSPECTS)) this.#suspect(plan, SUSPICION);
    const initialMs = Math.min(FIRST_BACK_OFF_MS, this.#intervalMs, maxBackoffMs);
    const retryMs = nowMs + backOffMs(plan.failures, { initialMs, maximumMs: maxBackoffMs }, random);
    const { row } = instrument;
    const sharedMs = this.#isRepaid(row, nowMs)
      ? this.#repaidSlots.nextAfterAnswer(this.#table.hashAt(row), nowMs)
      : this.#slots.inCompany(retryMs);
    const dueMs = plan.suspicion > 0 ? retryMs : sharedMs;
    if (mayRefresh) this.schedule(instrument, dueMs);
    if (!isNews) return [];
    return [{ kind, instrumentId: instrument.id, problem, failures: plan.failures, nextTryMs: dueMs - nowMs }];
  }

  #isRepaid(row: number, nowMs: number): boolean {
    return this.#settings.repayment.isLongPast(this.#table.repaymentDayAt(row), nowMs);
  }

  /** Only for a plan that is not scheduled. */
  #suspect(plan: RefreshPlan, suspicion: number): void {
    this.#suspects += Number(suspicion > 0) - Number(plan.suspicion > 0);
    plan.suspicion = suspicion;
  }

  /** What is in flight comes again when that is committed, and another instrument of an isin in the next batch. */
  #take(queue: DueQueue, most: number, nowMs: number): Batch | null {
    const isAlone = queue === this.#dueAlone;
    if (queue.firstMs > nowMs || this.refreshes.isFull(isAlone)) return null;
    const questions: AskedInstrument[] = [];
    const isins = new Set<string>();
    const twins: number[] = [];
    while (queue.firstMs <= nowMs && questions.length < most && twins.length < most) {
      const instrument = this.#table.at(queue.take());
      if (this.#inFlight.has(instrument.id)) continue;
      if (isins.has(instrument.isin)) twins.push(instrument.row);
      else questions.push(instrument);
      isins.add(instrument.isin);
    }
    for (const row of twins) queue.put(row, nowMs);
    if (questions.length === 0) return null;
    const batch: Batch = { kind: this.kind, questions, inputs: [], isAlone };
    for (const { id } of questions) this.#inFlight.set(id, null);
    this.refreshes.add(batch);
    return batch;
  }

  /** What counted as repaid by a clock that was ahead is asked for like all others; the other way round, after its answer. */
  #followClock(nowMs: number): void {
    const { repayment } = this.#settings;
    const [before, epochMs] = [this.#epochMs, repayment.epochMs(nowMs)];
    this.#epochMs = Math.max(before, epochMs);
    if (before - epochMs < CLOCK_CORRECTED_MS) return;
    this.#epochMs = epochMs;
    for (const row of this.#table.rows()) {
      const wasRepaid = repayment.isLongPast(this.#table.repaymentDayAt(row), nowMs, before);
      if (wasRepaid && !this.#isRepaid(row, nowMs) && this.#due.has(row)) this.scheduleInSlot(row, nowMs);
    }
  }
}
