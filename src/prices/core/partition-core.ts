import type { PriceProblem } from '../../observe/events.ts';
import type { InstrumentTerms } from '../../records/avro/instrument-terms.ts';
import type { PriceKind, QuestionOutcome } from '../bulk-prices.ts';
import { type Batch, type BatchPart, type InputMeaning, nothingAsked } from './batch.ts';
import {
  type CommittedPart,
  type CoreResult,
  type CoreStep,
  type CoreTransaction,
  type PartitionCoreSettings,
  problemOf,
  type ReportedFailures,
  type WindowProgress,
  type Withdrawal,
} from './core-messages.ts';
import { InputLane } from './input-lane.ts';
import { type AskedInstrument, carryOver, type InstrumentNews, planOf, type RefreshPlan } from './instrument.ts';
import { InstrumentTable } from './instrument-table.ts';
import { KindLane, type Verdict } from './kind-lane.ts';
import { type PriceState, priceState, saysThatThereIsNone } from './price-state.ts';

export const MARKS_EVERY_MS = 60_000;

/**
 * Decides for one partition of an instruments topic: the next request, the meaning of an answer, the next commit. Uses
 * no I/O and no clock. A core ends with its writer. The next core begins at the committed offset.
 *
 * An input is one or more records of the instruments topic that await a result. Batches of inputs are committed in the
 * order of the records, with the offset of the first unanswered record. So each record gets exactly one committed
 * result. Batches of refreshes answer no record and are committed when they are ready. For each kind, an instrument is
 * in one batch at a time, until its answer is committed. So its prices are written in the order of their requests.
 */
export class PartitionCore {
  readonly #settings: PartitionCoreSettings;
  readonly #table: InstrumentTable;
  readonly #lanes: readonly KindLane[];
  readonly #first: KindLane;
  readonly #inputs: InputLane;
  #turn = 0;
  #position: bigint;
  #unanswered = 0;
  /** The total time of all earlier commits, and the start of the current commit (null between commits). */
  #commitsMs = 0;
  #commitBeganMs: number | null = null;
  #marksDueMs: number;

  /**
   * @param start.instruments id, isin and terms, from the records below `start.offset`.
   * @param start.before the instruments of the previous core, if there is one.
   * @param start.phase the start of this partition's first slot, as a share of the refresh interval (0 to 1).
   */
  constructor(
    settings: PartitionCoreSettings,
    start: {
      readonly offset: bigint;
      readonly instruments: Iterable<readonly [id: string, isin: string, terms?: InstrumentTerms]>;
      readonly phase?: number;
      readonly before?: Pick<InstrumentTable, 'get'> | undefined;
      /** The moment up to which the windows of each series are answered, by the provider's clock. */
      readonly answeredMs?: ReadonlyMap<PriceKind, number>;
    },
    nowMs: number,
  ) {
    const { kinds } = settings;
    const table = new InstrumentTable(kinds.map(({ kind }) => kind));
    const { phase = 0 } = start;
    const wallMs = nowMs + settings.repayment.epochMs(nowMs);
    this.#lanes = kinds.map((one) => {
      const answeredMs = start.answeredMs?.get(one.kind) ?? wallMs;
      return new KindLane(one, settings, table, phase, answeredMs);
    });
    const [first] = this.#lanes;
    if (first === undefined) throw new RangeError('No kind of prices is requested: settings.kinds is empty.');
    this.#settings = settings;
    this.#marksDueMs = nowMs + MARKS_EVERY_MS;
    this.#table = table;
    this.#first = first;
    this.#inputs = new InputLane(first, settings);
    this.#position = start.offset;
    for (const [id, isin, terms] of start.instruments) {
      const earlier = start.before?.get(id);
      const same = earlier?.isin === isin ? earlier : null;
      const instrument = this.#put(id, isin, nowMs, terms);
      // The instrument's record is already answered, so any price on the topic is a price of this isin.
      for (const plan of instrument.plans) plan.shown = 'own';
      if (same !== null) carryOver(same, instrument);
    }
    for (const lane of this.#lanes) {
      lane.divide(nowMs);
      for (const row of table.rows()) lane.scheduleInSlot(row, nowMs);
    }
  }

  get position(): bigint {
    return this.#position;
  }

  get unanswered(): number {
    return this.#unanswered;
  }

  get instruments(): Pick<InstrumentTable, 'size' | 'rows' | 'at' | 'get' | 'plan'> {
    return this.#table;
  }

  stateOf(row: number, kind: number, nowMs: number): PriceState {
    return priceState(this.#table.plan(row, kind), this.#table.repaymentDayAt(row), this.#settings.repayment, nowMs);
  }

  /** For each series: windows were answered up to this time for each product that has prices. */
  earliestAnsweredMs(): ReadonlyMap<PriceKind, number> {
    const series = this.#lanes.filter(({ windows }) => windows !== null);
    return new Map(series.map((lane) => [lane.kind, lane.earliestAnsweredMs()]));
  }

  read(offset: bigint, id: string, news: InstrumentNews, nowMs: number): void {
    if (offset < this.#position) return;
    this.#position = offset + 1n;
    this.#unanswered += 1;
    const waitsSinceMs = this.#freeMs(nowMs);
    this.#inputs.add({ id, offset, readAtMs: nowMs, waitsSinceMs, meaning: this.#meaningOf(id, news, nowMs) });
  }

  passed(nextOffset: bigint): void {
    if (nextOffset > this.#position) this.#position = nextOffset;
  }

  next(nowMs: number): CoreStep {
    const batch = this.#nextBatch(nowMs);
    if (batch !== null) return { kind: 'ask', batch };
    const transaction = this.#transaction(nowMs);
    if (transaction !== null) {
      this.#commitBeganMs = nowMs;
      return { kind: 'commit', transaction };
    }
    const overdueMs = this.#inputs.nextOverdueMs() + this.#commitsMs;
    const nextMs = Math.min(overdueMs, this.#inputs.nextMs(), ...this.#lanes.map((lane) => lane.nextMs()));
    return { kind: 'wait', ms: Math.max(0, nextMs - nowMs) };
  }

  /** False after the instrument of a question was deleted or got another isin. Its answer is then dropped. */
  isWanted(batch: Batch, at: number): boolean {
    const instrument = batch.questions[at];
    return instrument !== undefined && this.#table.holds(instrument);
  }

  answered(batch: Batch, positions: readonly number[], outcomes: readonly QuestionOutcome[]): void {
    const lane = batch.inputs.length > 0 ? this.#inputs : this.#lane(batch).refreshes;
    lane.answered(batch, positions, outcomes);
  }

  /** Must be called after the transaction is committed. */
  committed({ parts, progress }: CoreTransaction, nowMs: number): void {
    for (const missed of progress?.missed ?? []) this.#lane(missed).windows?.reported(missed);
    this.#commitsMs += nowMs - (this.#commitBeganMs ?? nowMs);
    this.#commitBeganMs = null;
    for (const { batch, results } of parts) {
      const lane = this.#lane(batch);
      for (const { id } of batch.questions) lane.release(id);
      for (const result of results) this.#finish(lane, result, nowMs);
      for (const { id } of batch.questions) {
        // A refresh that was due while the instrument was in flight was skipped, and is scheduled now.
        const instrument = this.#table.get(id);
        if (instrument && !lane.isScheduled(instrument) && this.#mayRefresh(lane, instrument)) {
          lane.schedule(instrument, nowMs);
        }
      }
    }
  }

  #finish(lane: KindLane, result: CoreResult, nowMs: number): void {
    if (result.kind === 'dropped') return;
    this.#unanswered -= result.offsets.length;
    if (result.kind !== 'prices' && result.kind !== 'failure' && result.kind !== 'postponed') return;
    const { instrument } = result;
    if (result.kind === 'failure') this.#settings.reported.add(lane.kind, instrument.id, result.problem);
    // During the commit, the instrument may have been deleted or may have got another isin.
    if (!this.#table.holds(instrument)) return;
    if (result.kind === 'postponed') {
      lane.requestLater(instrument, result.withdrawal, nowMs, this.#mayRefresh(lane, instrument));
      return;
    }
    const verdict: Verdict =
      result.kind === 'prices'
        ? { kind: 'priced', isPulled: result.answer.isQuotingPulled === true, range: result.answer.range ?? null }
        : { ...result, kind: 'failed' };
    lane.judge(instrument, verdict, nowMs, this.#mayRefresh(lane, instrument));
  }

  #meaningOf(id: string, news: InstrumentNews, nowMs: number): InputMeaning {
    const known = this.#table.get(id);
    if (news.kind === 'live' && known !== undefined && known.isin === news.isin) {
      const instrument = this.#table.putTerms(known, news.terms);
      this.#first.unschedule(instrument);
      // A new repayment day may change the interval of the other kinds.
      if (known.terms.repaymentDay !== news.terms.repaymentDay) this.#refreshBesidesFirst(instrument, nowMs);
      return { kind: 'price', instrument };
    }
    if (known !== undefined) for (const lane of this.#lanes) lane.unschedule(known);
    if (news.kind !== 'live' || news.isin === null) {
      this.#table.delete(id);
      return news.kind === 'live' ? { kind: 'noIsin' } : news;
    }
    // While the table is empty, the low-water marks may be old. So they move before the first instrument is added.
    if (this.#table.size === 0) this.#moveMarks(nowMs);
    const instrument = this.#put(id, news.isin, nowMs, news.terms);
    this.#refreshBesidesFirst(instrument, nowMs);
    return { kind: 'price', instrument };
  }

  #put(id: string, isin: string, nowMs: number, terms: InstrumentTerms | undefined): AskedInstrument {
    const instrument = this.#table.put(id, isin, nowMs, terms);
    for (const lane of this.#lanes) lane.begin(instrument);
    return instrument;
  }

  #refreshBesidesFirst(instrument: AskedInstrument, nowMs: number): void {
    for (const lane of this.#lanes) {
      if (lane !== this.#first) lane.schedule(instrument, nowMs + this.#settings.lingerMs);
    }
  }

  #nextBatch(nowMs: number): Batch | null {
    for (const lane of this.#lanes) lane.divide(nowMs);
    const inputs = this.#inputs.nextBatch(nowMs);
    if (inputs !== null) return inputs;
    for (const lane of this.#lanes) {
      const batch = lane.nextBatch(nowMs);
      if (batch !== null) return batch;
    }
    return null;
  }

  /** A transaction has one kind of prices, and the kinds take turns: a kind that cannot be written blocks no other. */
  #transaction(nowMs: number): CoreTransaction | null {
    for (let tried = 0; tried < this.#lanes.length; tried++) {
      const lane = this.#lanes[this.#turn];
      this.#turn = (this.#turn + 1) % this.#lanes.length;
      const inputs = lane === this.#first ? this.#inputs.takeAnswered(this.#freeMs(nowMs)) : [];
      const batches = [...inputs, ...(lane?.refreshes.takeAnswered() ?? [])];
      if (batches.length === 0) continue;
      const isMarked = this.#moveMarks(nowMs);
      const offset = inputs.length > 0 || isMarked ? (this.#inputs.firstUnanswered() ?? this.#position) : null;
      const parts = batches.map((batch) => this.#part(batch, nowMs));
      const passedUnanswered = offset === null ? null : this.#passedUnanswered(offset);
      // A transaction has one kind. `passedUnanswered` is of the first kind, so another transaction writes it with the offset.
      if (passedUnanswered !== null && lane !== this.#first) return { parts, offset: null, progress: null };
      return {
        parts: passedUnanswered === null ? parts : [...parts, passedUnanswered],
        offset,
        progress: offset === null ? null : this.#progress(),
      };
    }
    return null;
  }

  /** Moves the low-water marks, at most once a minute because this reads all instruments. Returns true after a move. */
  #moveMarks(nowMs: number): boolean {
    if (nowMs < this.#marksDueMs || this.#lanes.every(({ windows }) => windows === null)) return false;
    this.#marksDueMs = nowMs + MARKS_EVERY_MS;
    for (const lane of this.#lanes) lane.moveMark(nowMs);
    return true;
  }

  #progress(): WindowProgress {
    const windows = this.#lanes.flatMap((lane) => lane.windows ?? []);
    return {
      answeredMs: new Map(windows.map(({ kind, untilMs }) => [kind, untilMs])),
      missed: windows.flatMap(({ missed }) => missed ?? []),
    };
  }

  /** Before the offset passes unanswered records, deletes prices of earlier isins; see `withdrawalUnanswered`. */
  #passedUnanswered(offset: bigint): CommittedPart | null {
    const { kind } = this.#first;
    const results = this.#inputs
      .passedUnanswered(offset)
      .map((instrument) => postponedResult(kind, instrument, []))
      .filter(({ withdrawal }) => withdrawal !== null);
    return results.length === 0 ? null : { batch: nothingAsked(kind), results };
  }

  /** The current time minus the time of all commits, because no answer can be taken during a commit. */
  #freeMs(nowMs: number): number {
    return (this.#commitBeganMs ?? nowMs) - this.#commitsMs;
  }

  #part(batch: BatchPart, nowMs: number): CommittedPart {
    const { reported, repayment } = this.#settings;
    const holds = (instrument: AskedInstrument) => this.#table.holds(instrument);
    // The table, because a repayment can come while the request is under way.
    const isRepaid = ({ row }: AskedInstrument, problem: PriceProblem) =>
      saysThatThereIsNone(problem) && repayment.hasCome(this.#table.repaymentDayAt(row), nowMs);
    const results = batchResults(batch, { holds, isRepaid, reported });
    // A later record must not supersede a result that is being written.
    for (const { id } of batch.questions) this.#lane(batch).putInFlight(id, null);
    return { batch, results };
  }

  /** False if the instrument was deleted, or if an input in the queue already requests its price. */
  #mayRefresh(lane: KindLane, instrument: AskedInstrument): boolean {
    return this.#table.holds(instrument) && !(lane === this.#first && this.#inputs.has(instrument.id));
  }

  #lane({ kind }: { readonly kind: PriceKind }): KindLane {
    const lane = this.#lanes.find((candidate) => candidate.kind === kind);
    if (lane === undefined) throw new RangeError(`Prices of the kind ${kind} are not requested.`);
    return lane;
  }
}

interface ResultContext {
  /** False after the instrument was deleted or got another isin. The answer is then dropped. */
  readonly holds: (instrument: AskedInstrument) => boolean;
  /** Called for an instrument that `holds` accepts. */
  readonly isRepaid: (instrument: AskedInstrument, problem: PriceProblem) => boolean;
  readonly reported: ReportedFailures;
}

function batchResults({ kind, inputs, questions, outcomes }: BatchPart, context: ResultContext): CoreResult[] {
  if (inputs.length === 0)
    return questions.map((instrument, at) => result(kind, instrument, outcomes[at], [], context));
  let next = 0;
  return inputs.map(({ input: { id, meaning, offsets }, superseded, postponed }) => {
    const outcome = meaning.kind === 'price' && !postponed ? outcomes[next++] : undefined;
    if (superseded) return { kind: 'dropped' };
    if (meaning.kind !== 'price') return { ...meaning, id, offsets };
    if (postponed) return postponedResult(kind, meaning.instrument, offsets);
    return result(kind, meaning.instrument, outcome, offsets, context);
  });
}

/** `offsets`: the records that are answered without a price; empty if the result only deletes a price. */
function postponedResult(kind: PriceKind, instrument: AskedInstrument, offsets: readonly bigint[]) {
  const withdrawal = kind === 'overview' ? withdrawalUnanswered(instrument, planOf(instrument, kind)) : null;
  return { kind: 'postponed' as const, instrument, offsets, withdrawal };
}

function result(
  kind: PriceKind,
  instrument: AskedInstrument,
  outcome: QuestionOutcome | undefined,
  offsets: readonly bigint[],
  { holds, isRepaid, reported }: ResultContext,
): CoreResult {
  if (outcome === undefined) throw new RangeError('A batch was answered with fewer outcomes than it had questions.');
  if (outcome.kind === 'dropped' || !holds(instrument)) return { kind: 'dropped' };
  if (outcome.kind === 'prices') return { kind: 'prices', instrument, answer: outcome, offsets };
  const problem = problemOf(outcome);
  const isDeadLetter = offsets.length > 0 || !reported.has(kind, instrument.id, problem);
  // Only overview prices are deleted: they are current values, and a series is history.
  const withdrawal = kind === 'overview' ? withdrawalOf(instrument, planOf(instrument, kind), problem) : null;
  const failure = { kind: 'failure', instrument, outcome, problem, offsets, isDeadLetter, withdrawal } as const;
  return { ...failure, isRepaid: isRepaid(instrument, problem) };
}

/**
 * A price of an earlier isin is always deleted. A price of this isin is deleted after 404, 410, or two problems without a status.
 */
function withdrawalOf(instrument: AskedInstrument, plan: RefreshPlan, problem: PriceProblem): Withdrawal | null {
  switch (plan.shown) {
    case 'nothing':
      return null;
    case 'unproven':
      return withdrawalUnanswered(instrument, plan);
    case 'own': {
      const isDefinite = problem !== 'none' || plan.problem === 'none';
      return isDefinite && saysThatThereIsNone(problem) ? 'no-price' : null;
    }
  }
}

/** Deletes a price of an earlier isin: a new process would assume that the price belongs to the isin of the record. */
function withdrawalUnanswered({ isinChanged }: AskedInstrument, { shown }: RefreshPlan): Withdrawal | null {
  if (shown !== 'unproven') return null;
  return isinChanged ? 'isin-changed' : 'no-price';
}
