import type { PriceProblem } from '../../observe/events.ts';
import { backOffMs } from '../../support/back-off.ts';
import type { AnsweredRange, PriceKind } from '../bulk-prices.ts';
import { type Batch, type BatchInput, RefreshBatches } from './batch.ts';
import type { MissedWindows, PartitionCoreSettings, Withdrawal } from './core-messages.ts';
import { DueQueue } from './due-queue.ts';
import { type AskedInstrument, NO_TROUBLE, planOf, type RefreshPlan } from './instrument.ts';
import type { InstrumentTable } from './instrument-table.ts';
import { saysThatThereIsNone } from './price-state.ts';

/** If more products fail on their own, the command for all of them is shorter. */
const MOST_NAMED = 20;

/**
 * The moments up to which windows of one series are answered, for one partition; by the provider's clock, in milliseconds
 * since the epoch. The earliest is the low-water mark, which is committed: a restart and a new instrument begin there.
 */
class AnsweredWindows {
  readonly kind: PriceKind;
  /** The low-water mark, as of when it was last moved. */
  untilMs: number;
  #missed: MissedWindows | null = null;

  constructor(kind: PriceKind, untilMs: number) {
    this.kind = kind;
    this.untilMs = untilMs;
  }

  /** An instrument was answered; its plan is still as it was before. */
  answered(isin: string, plan: RefreshPlan, { fromMs, untilMs }: AnsweredRange): void {
    if (fromMs > plan.answeredMs && mayHaveWindows(plan.problem))
      this.#miss(plan.answeredMs, fromMs, plan.problem === null ? null : [isin]);
    plan.answeredMs = untilMs;
  }

  /** Null until every instrument is answered beyond it. */
  get missed(): MissedWindows | null {
    return this.#missed !== null && this.#missed.toMs <= this.untilMs ? this.#missed : null;
  }

  reported(missed: MissedWindows): void {
    if (this.#missed === missed) this.#missed = null;
  }

  #miss(fromMs: number, toMs: number, isins: readonly string[] | null): void {
    const before = this.#missed ?? { fromMs, toMs, isins: [] };
    const all = before.isins === null || isins === null ? null : [...new Set([...before.isins, ...isins])];
    this.#missed = {
      kind: this.kind,
      fromMs: Math.min(before.fromMs, fromMs),
      toMs: Math.max(before.toMs, toMs),
      isins: all !== null && all.length <= MOST_NAMED ? all : null,
    };
  }
}

/** A retry waits for the next of these moments, so that it shares a call. */
const LONGEST_WAIT_FOR_COMPANY_MS = 60_000;

/** In intervals: a slot that comes sooner after an answer is left out. No price gets older than the rest plus one. */
const SOONEST_SHARE = 0.1;

/**
 * The refresh times of one partition for one kind. The hash of an instrument gives its slot of the interval, and a slot is
 * one full call: so each instrument comes once per interval, also after a restart. The slots are those of the wall clock.
 */
class RefreshSlots {
  readonly #intervalMs: number;
  readonly #epochMs: number;
  readonly #ownPhaseMs: number;
  #phaseMs: number;
  /** The greatest hash of each slot but the last. */
  #bounds = new Int32Array(0);

  /**
   * @param options.epochMs the wall clock at the monotonic time 0.
   * @param options.phase where in the interval the first slot is, from 0 to 1: partitions ask at different times.
   */
  constructor(options: { readonly intervalMs: number; readonly epochMs: number; readonly phase: number }) {
    this.#intervalMs = options.intervalMs;
    this.#epochMs = options.epochMs;
    this.#ownPhaseMs = options.phase * options.intervalMs;
    this.#phaseMs = this.#ownPhaseMs;
  }

  /** Keeps the slots as many as full batches of these instruments are needed; takes their hashes, which are gone then. */
  fit(hashes: Int32Array<ArrayBuffer>, maxItems: number): void {
    // So few begin the interval at the same moment as those of other partitions, and share a call with them.
    this.#phaseMs = 2 * hashes.length <= maxItems ? 0 : this.#ownPhaseMs;
    const slots = Math.max(1, Math.ceil(hashes.length / maxItems));
    if (slots !== this.#count || this.#fullest(hashes) > maxItems) this.#divide(hashes, slots);
    // Given back at once, and not when a collection finds them.
    hashes.buffer.transfer(0);
  }

  get #count(): number {
    return this.#bounds.length + 1;
  }

  #divide(hashes: Int32Array, slots: number): void {
    hashes.sort();
    const bounds = new Int32Array(Math.max(0, slots - 1));
    for (let slot = 1; slot < slots; slot++) {
      bounds[slot - 1] = hashes[Math.ceil((slot * hashes.length) / slots) - 1] ?? 0;
    }
    this.#bounds = bounds;
  }

  #fullest(hashes: Int32Array): number {
    const sizes = new Int32Array(this.#count);
    for (const hash of hashes) {
      const slot = this.#of(hash);
      sizes[slot] = (sizes[slot] ?? 0) + 1;
    }
    return sizes.reduce((most, size) => Math.max(most, size), 0);
  }

  #of(hash: number): number {
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (hash <= (this.#bounds[middle] ?? 0)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** When the slot of a hash comes next; at most one interval later. */
  next(hash: number, nowMs: number): number {
    return this.#after(this.#phaseMs + (this.#of(hash) * this.#intervalMs) / this.#count, this.#intervalMs, nowMs);
  }

  nextAfterAnswer(hash: number, nowMs: number): number {
    return this.next(hash, nowMs + this.#intervalMs * SOONEST_SHARE);
  }

  /** The first moment from then on at which something may be asked for besides its slot. */
  inCompany(fromMs: number): number {
    const slotMs = this.#intervalMs / this.#count;
    const everyMs = slotMs / Math.ceil(slotMs / LONGEST_WAIT_FOR_COMPANY_MS);
    return this.#after(this.#phaseMs, everyMs, fromMs - 1);
  }

  /** The first time of a clock that strikes every so often, after a monotonic time, in whole milliseconds of the wall. */
  #after(phaseMs: number, everyMs: number, monotonicMs: number): number {
    const wallMs = Math.round(monotonicMs + this.#epochMs);
    let strikes = Math.floor((wallMs - phaseMs) / everyMs);
    while (Math.round(phaseMs + strikes * everyMs) <= wallMs) strikes += 1;
    return Math.round(phaseMs + strikes * everyMs) - this.#epochMs;
  }
}

function mayHaveWindows(problem: PriceProblem | null): boolean {
  return problem === null || !saysThatThereIsNone(problem);
}

const FIRST_BACK_OFF_MS = 10_000;
/** The price of an instrument repaid long ago hardly changes, and most have none. */
const REPAID_INTERVAL_MS = 86_400_000;
/** A clock that is set back by less changes nothing that matters: days count. */
const CLOCK_CORRECTED_MS = 3_600_000;

export type Verdict =
  | { readonly kind: 'priced'; readonly isPulled: boolean; readonly range: AnsweredRange | null }
  | { readonly kind: 'failed'; readonly problem: PriceProblem; readonly withdrawal: Withdrawal | null };

/** One kind of prices for one partition. Lanes share nothing, so that the failures of one do not delay another. */
export class KindLane {
  readonly kind: PriceKind;
  readonly refreshes = new RefreshBatches();
  readonly windows: AnsweredWindows | null;
  readonly #intervalMs: number;
  readonly #settings: PartitionCoreSettings;
  readonly #table: InstrumentTable;
  readonly #slots: RefreshSlots;
  readonly #repaidSlots: RefreshSlots;
  readonly #due = new DueQueue();
  /** Ids in batches, with the input there that a later record may supersede; null where there is none, or no longer. */
  readonly #inFlight = new Map<string, BatchInput | null>();
  #dividedMs = Number.NEGATIVE_INFINITY;
  #dividedSize = 0;
  /** By which what counts as repaid was put into its slots. */
  #epochMs = Number.NEGATIVE_INFINITY;

  constructor(
    { kind, refreshIntervalMs }: PartitionCoreSettings['kinds'][number],
    settings: PartitionCoreSettings,
    table: InstrumentTable,
    phase: number,
    answeredMs: number,
  ) {
    this.kind = kind;
    this.#intervalMs = refreshIntervalMs;
    this.#settings = settings;
    this.#table = table;
    this.windows = kind === 'overview' ? null : new AnsweredWindows(kind, answeredMs);
    const { epochMs } = settings;
    this.#slots = new RefreshSlots({ intervalMs: refreshIntervalMs, epochMs, phase });
    const repaidIntervalMs = Math.max(refreshIntervalMs, REPAID_INTERVAL_MS);
    this.#repaidSlots = new RefreshSlots({ intervalMs: repaidIntervalMs, epochMs, phase });
  }

  get maxItems(): number {
    return this.#settings.maxItems(this.kind);
  }

  /** The windows of an instrument that is new to the table count as answered up to the low-water mark. */
  begin(instrument: AskedInstrument): void {
    if (this.windows !== null) planOf(instrument, this.kind).answeredMs = this.windows.untilMs;
  }

  /** Where some products are answered, those that fail have their own moments. Long repaid ones hardly have windows. */
  moveMark(nowMs: number): void {
    if (this.windows === null) return;
    const wallMs = nowMs + this.#settings.repayment.epochMs(nowMs);
    const counts = (row: number) => !this.#isRepaid(row, nowMs);
    const answeredMs = this.#earliestMs((problem, row) => problem === null && counts(row));
    const failedMs = () => this.#earliestMs((problem, row) => mayHaveWindows(problem) && counts(row));
    this.windows.untilMs = Math.min(wallMs, answeredMs === Number.POSITIVE_INFINITY ? failedMs() : answeredMs);
  }

  earliestAnsweredMs(): number {
    return this.#earliestMs(mayHaveWindows);
  }

  isInFlight(id: string): boolean {
    return this.#inFlight.has(id);
  }

  inputInFlight(id: string): BatchInput | null {
    return this.#inFlight.get(id) ?? null;
  }

  /** `input`: what the answer answers, for as long as a later record may supersede it. */
  putInFlight(id: string, input: BatchInput | null): void {
    this.#inFlight.set(id, input);
  }

  /** After a start, as if it had been requested in its last slot. */
  scheduleInSlot(row: number, nowMs: number): void {
    const slots = this.#isRepaid(row, nowMs) ? this.#repaidSlots : this.#slots;
    this.#due.put(row, slots.next(this.#table.hashAt(row), nowMs));
  }

  schedule({ row }: AskedInstrument, dueMs: number): void {
    this.#due.put(row, dueMs);
  }

  unschedule({ row }: AskedInstrument): void {
    this.#due.remove(row);
  }

  /** Keeps the slots as many as full batches are needed; what is due comes when it was due. */
  divide(nowMs: number): void {
    const { size } = this.#table;
    if (nowMs < this.#dividedMs + this.#intervalMs && size <= 2 * this.#dividedSize) return;
    this.#dividedMs = nowMs;
    this.#dividedSize = size;
    this.#followClock(nowMs);
    // Instruments repaid long ago have their own slots: otherwise the slots would be many and nearly empty.
    const hashes = (isRepaid: boolean) => this.#table.hashes((row) => this.#isRepaid(row, nowMs) === isRepaid);
    this.#slots.fit(hashes(false), this.maxItems);
    this.#repaidSlots.fit(hashes(true), this.maxItems);
  }

  /** Instruments in flight come again after their commit, a second instrument of an isin in the next batch. */
  nextBatch(nowMs: number): Batch | null {
    const { maxItems } = this;
    if (this.#due.firstMs > nowMs || this.refreshes.isFull(maxItems)) return null;
    const questions: AskedInstrument[] = [];
    const isins = new Set<string>();
    const twins: number[] = [];
    while (this.#due.firstMs <= nowMs && questions.length < maxItems && twins.length < maxItems) {
      const instrument = this.#table.at(this.#due.take());
      if (this.#inFlight.has(instrument.id)) continue;
      if (isins.has(instrument.isin)) twins.push(instrument.row);
      else questions.push(instrument);
      isins.add(instrument.isin);
    }
    for (const row of twins) this.#due.put(row, nowMs);
    if (questions.length === 0) return null;
    const batch: Batch = { kind: this.kind, questions, inputs: [] };
    for (const { id } of questions) this.#inFlight.set(id, null);
    this.refreshes.add(batch);
    return batch;
  }

  nextMs(): number {
    const ms = this.refreshes.isFull(this.maxItems) ? Number.POSITIVE_INFINITY : this.#due.firstMs;
    // Where nothing but what is repaid is left, the next slot is far: the clock by which it is may be corrected before.
    return ms === Number.POSITIVE_INFINITY ? ms : Math.min(ms, this.#dividedMs + 2 * this.#intervalMs);
  }

  release(id: string): void {
    this.#inFlight.delete(id);
  }

  judge(instrument: AskedInstrument, verdict: Verdict, nowMs: number, mayRefresh: boolean): void {
    const plan = planOf(instrument, this.kind);
    if (verdict.kind === 'failed') {
      this.#failed(instrument, verdict, nowMs, mayRefresh);
      return;
    }
    const { range } = verdict;
    if (range !== null) this.windows?.answered(instrument.isin, plan, range);
    plan.isPriced = true;
    plan.sinceMs = nowMs;
    plan.pulled = verdict.isPulled;
    plan.trouble = NO_TROUBLE;
    plan.shown = 'own';
    const slots = this.#isRepaid(instrument.row, nowMs) ? this.#repaidSlots : this.#slots;
    const isWhole = range?.isLast !== false;
    const nextMs = isWhole ? slots.nextAfterAnswer(this.#table.hashAt(instrument.row), nowMs) : nowMs;
    if (mayRefresh) this.schedule(instrument, nextMs);
  }

  /** Its record is answered without its price, which is asked for at once, unless it is on its way. */
  owe(instrument: AskedInstrument, withdrawal: Withdrawal | null, nowMs: number, mayRefresh: boolean): void {
    if (withdrawal !== null) planOf(instrument, this.kind).shown = 'nothing';
    if (mayRefresh && !this.isInFlight(instrument.id)) this.schedule(instrument, nowMs);
  }

  isScheduled({ row }: AskedInstrument): boolean {
    return this.#due.has(row);
  }

  #failed(
    instrument: AskedInstrument,
    verdict: Verdict & { readonly kind: 'failed' },
    nowMs: number,
    mayRefresh: boolean,
  ): void {
    const { maxBackoffMs, random } = this.#settings;
    const plan = planOf(instrument, this.kind);
    const { problem, withdrawal } = verdict;
    const failures = plan.trouble.failures + 1;
    plan.trouble = { failures, problem };
    if (withdrawal !== null) plan.shown = 'nothing';
    const initialMs = Math.min(FIRST_BACK_OFF_MS, this.#intervalMs, maxBackoffMs);
    const retryMs = nowMs + backOffMs(failures, { initialMs, maximumMs: maxBackoffMs }, random);
    const { row } = instrument;
    const dueMs = this.#isRepaid(row, nowMs)
      ? this.#repaidSlots.nextAfterAnswer(this.#table.hashAt(row), nowMs)
      : this.#slots.inCompany(retryMs);
    if (mayRefresh) this.schedule(instrument, dueMs);
  }

  #earliestMs(counts: (problem: PriceProblem | null, row: number) => boolean): number {
    const at = this.#settings.kinds.findIndex(({ kind }) => kind === this.kind);
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const row of this.#table.rows()) {
      const { problem, answeredMs } = this.#table.plan(row, at);
      if (answeredMs < earliestMs && counts(problem, row)) earliestMs = answeredMs;
    }
    return earliestMs;
  }

  #isRepaid(row: number, nowMs: number): boolean {
    return this.#settings.repayment.isLongPast(this.#table.repaymentDayAt(row), nowMs);
  }

  /** A clock that was ahead made instruments repaid: they get their slots back. */
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
