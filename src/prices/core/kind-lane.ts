import type { PriceProblem } from '../../observe/events.ts';
import { backOffMs } from '../../support/back-off.ts';
import type { AnsweredRange, PriceKind } from '../bulk-prices.ts';
import { type Batch, type BatchInput, RefreshBatches } from './batch.ts';
import type { MissedWindows, PartitionCoreSettings, Withdrawal } from './core-messages.ts';
import { DueQueue } from './due-queue.ts';
import { type AskedInstrument, NO_TROUBLE, planOf, type RefreshPlan } from './instrument.ts';
import type { InstrumentTable } from './instrument-table.ts';
import { saysThatThereIsNone } from './price-state.ts';

/** The most products that a backfill command names. With more products, the command covers all products. */
const MOST_NAMED = 20;

/**
 * For each instrument of one partition: the moment up to which the windows of one series are answered, in milliseconds
 * since the epoch by the provider's clock. The earliest is committed; restarts and new instruments begin there.
 */
class AnsweredWindows {
  readonly kind: PriceKind;
  /** The low-water mark after its last move. */
  untilMs: number;
  #missed: MissedWindows | null = null;

  constructor(kind: PriceKind, untilMs: number) {
    this.kind = kind;
    this.untilMs = untilMs;
  }

  /** Marks windows as answered. Call this while `plan` still has the problem of the previous answer. */
  answered(isin: string, plan: RefreshPlan, { fromMs, untilMs }: AnsweredRange): void {
    if (fromMs > plan.answeredMs && mayHaveWindows(plan.problem))
      this.#miss(plan.answeredMs, fromMs, plan.problem === null ? null : [isin]);
    plan.answeredMs = untilMs;
  }

  /** The missed windows; null until the low-water mark has passed them. */
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

/** The longest time that a retry waits for other retries, to share a call. */
const LONGEST_WAIT_FOR_COMPANY_MS = 60_000;

/** After an answer, a slot that begins within this share of the interval is skipped: the price is still new. */
const SOONEST_SHARE = 0.1;

/**
 * The refresh times of one partition for one kind. The hash of an instrument decides its slot in the interval. One
 * call requests all instruments of a slot. Slots follow the wall clock. So an instrument keeps its times after a restart.
 */
class RefreshSlots {
  readonly #intervalMs: number;
  readonly #epochMs: number;
  readonly #ownPhaseMs: number;
  #phaseMs: number;
  /** The greatest hash of each slot except the last slot. */
  #bounds = new Int32Array(0);

  /**
   * @param options.epochMs the wall-clock time when the monotonic clock was 0.
   * @param options.phase the start of the first slot, as a share of the refresh interval (0 to 1); differs by partition.
   */
  constructor(options: { readonly intervalMs: number; readonly epochMs: number; readonly phase: number }) {
    this.#intervalMs = options.intervalMs;
    this.#epochMs = options.epochMs;
    this.#ownPhaseMs = options.phase * options.intervalMs;
    this.#phaseMs = this.#ownPhaseMs;
  }

  /** Makes one slot for each batch that these instruments need, and at least one slot. Empties `hashes`. */
  fit(hashes: Int32Array<ArrayBuffer>, maxItems: number): void {
    // All small partitions begin their interval at the same moment, so that they share calls.
    this.#phaseMs = 2 * hashes.length <= maxItems ? 0 : this.#ownPhaseMs;
    const slots = Math.max(1, Math.ceil(hashes.length / maxItems));
    if (slots !== this.#count || this.#fullest(hashes) > maxItems) this.#divide(hashes, slots);
    // Frees the memory now, not at a later garbage collection.
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

  /** The next start of the slot that has this hash; at most one interval after `nowMs`. */
  next(hash: number, nowMs: number): number {
    return this.#after(this.#phaseMs + (this.#of(hash) * this.#intervalMs) / this.#count, this.#intervalMs, nowMs);
  }

  nextAfterAnswer(hash: number, nowMs: number): number {
    return this.next(hash, nowMs + this.#intervalMs * SOONEST_SHARE);
  }

  /** The first moment, at `fromMs` or later, at which retries share a call. */
  nextSharedMs(fromMs: number): number {
    const slotMs = this.#intervalMs / this.#count;
    const everyMs = slotMs / Math.ceil(slotMs / LONGEST_WAIT_FOR_COMPANY_MS);
    return this.#after(this.#phaseMs, everyMs, fromMs - 1);
  }

  /** The first moment after `monotonicMs` with this phase and period, in whole milliseconds of the wall clock. */
  #after(phaseMs: number, everyMs: number, monotonicMs: number): number {
    const wallMs = Math.round(monotonicMs + this.#epochMs);
    let periods = Math.floor((wallMs - phaseMs) / everyMs);
    while (Math.round(phaseMs + periods * everyMs) <= wallMs) periods += 1;
    return Math.round(phaseMs + periods * everyMs) - this.#epochMs;
  }
}

function mayHaveWindows(problem: PriceProblem | null): boolean {
  return problem === null || !saysThatThereIsNone(problem);
}

const FIRST_BACK_OFF_MS = 10_000;
/** The interval for instruments that were repaid long ago. Most have no price. The prices of the rest hardly change. */
const REPAID_INTERVAL_MS = 86_400_000;
/** A smaller correction of the clock is ignored, because repayment counts in days. */
const CLOCK_CORRECTED_MS = 3_600_000;

export type Verdict =
  | { readonly kind: 'priced'; readonly isPulled: boolean; readonly range: AnsweredRange | null }
  | { readonly kind: 'failed'; readonly problem: PriceProblem; readonly withdrawal: Withdrawal | null };

/** One kind of prices for one partition. Each lane has its own schedule, so that its failures delay no other lane. */
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
  /** The instruments in flight, by id. The value is the input, or null if no later record may supersede an input. */
  readonly #inFlight = new Map<string, BatchInput | null>();
  #dividedMs = Number.NEGATIVE_INFINITY;
  #dividedSize = 0;
  /** The greatest `epochMs` of `Repayment` since the clock was last corrected by CLOCK_CORRECTED_MS or more. */
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

  /** The windows of a new instrument count as answered up to the low-water mark. */
  begin(instrument: AskedInstrument): void {
    if (this.windows !== null) planOf(instrument, this.kind).answeredMs = this.windows.untilMs;
  }

  /** Moves the low-water mark to the earliest `answeredMs`. Failing products count only if all fail; repaid ones never count. */
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

  /** `input`: the input of the instrument, or null if no later record may supersede an input. */
  putInFlight(id: string, input: BatchInput | null): void {
    this.#inFlight.set(id, input);
  }

  /** Schedules an instrument for its next slot, as if it had been requested in its previous slot. */
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

  /** Makes one slot for each batch that the instruments need. Scheduled instruments keep their times. */
  divide(nowMs: number): void {
    const { size } = this.#table;
    if (nowMs < this.#dividedMs + this.#intervalMs && size <= 2 * this.#dividedSize) return;
    this.#dividedMs = nowMs;
    this.#dividedSize = size;
    this.#followClock(nowMs);
    // Without separate slots for instruments repaid long ago, most slots would be nearly empty.
    const hashes = (isRepaid: boolean) => this.#table.hashes((row) => this.#isRepaid(row, nowMs) === isRepaid);
    this.#slots.fit(hashes(false), this.maxItems);
    this.#repaidSlots.fit(hashes(true), this.maxItems);
  }

  /** Skips instruments in flight: their commit schedules them again. A second instrument of an isin waits for the next batch. */
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
    // If all instruments are repaid, the next slot is far away. The lane wakes earlier, to see a corrected clock.
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

  /** Called after a record is answered without a price. Requests the price at once, unless a request is in flight. */
  requestLater(instrument: AskedInstrument, withdrawal: Withdrawal | null, nowMs: number, mayRefresh: boolean): void {
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
      : this.#slots.nextSharedMs(retryMs);
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

  /** If our clock was ahead and is corrected, instruments that wrongly counted as repaid get their slots back. */
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
