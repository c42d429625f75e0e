import type { InstrumentTerms } from '../../avro/instrument-terms.ts';
import type { InstrumentFailing } from '../../observability/processor-events.ts';
import type { BatchResponses } from '../batch-responses.ts';
import { type Batch, type BatchPart, nothingAsked } from './batch.ts';
import { batchResults, postponedResult } from './batch-results.ts';
import type {
  CommittedPart,
  CoreResult,
  CoreStep,
  CoreTransaction,
  InstrumentNews,
  PartitionCoreSettings,
} from './core-messages.ts';
import { InputLane } from './input-lane.ts';
import type { InputMeaning } from './input-queue.ts';
import { type AskedInstrument, carryOver } from './instrument.ts';
import { InstrumentTable } from './instrument-table.ts';
import { KindLane, type Verdict } from './kind-lane.ts';
import { type PriceState, priceState } from './price-state.ts';

/**
 * Decides for one partition what is asked next, what an answer means and what may be committed; without I/O or clock.
 * Thrown away with its writer: a new one begins from the committed offset.
 *
 * Batches of inputs answer records of the instruments topic and commit in the order of these, each with the offset of the
 * first record that is still unanswered: so each record is answered by exactly one committed result. Batches of refreshes
 * answer none, and commit whenever they are ready. For each kind an instrument is in one batch at a time, until its answer
 * is committed: so the prices of an instrument are written in the order in which they were asked for.
 */
export class PartitionCore {
  readonly #settings: PartitionCoreSettings;
  readonly #table: InstrumentTable;
  readonly #lanes: readonly KindLane[];
  /** The lane whose prices answer the records of instruments. */
  readonly #first: KindLane;
  readonly #inputs: InputLane;
  /** The lane that commits next. */
  #turn = 0;
  #position: bigint;
  #unanswered = 0;
  /** All commits so far took so long, and the present one began then. */
  #commitsMs = 0;
  #commitBeganMs: number | null = null;

  /**
   * @param start.instruments the table up to `start.offset`: id, isin and terms.
   * @param start.before the instruments of the core that this one follows.
   * @param start.phase where in each interval this partition begins, from 0 to 1.
   */
  constructor(
    settings: PartitionCoreSettings,
    start: {
      readonly offset: bigint;
      readonly instruments: Iterable<readonly [id: string, isin: string, terms?: InstrumentTerms]>;
      readonly phase?: number;
      readonly before?: Pick<InstrumentTable, 'get'> | undefined;
    },
    nowMs: number,
  ) {
    const { kinds } = settings;
    const table = new InstrumentTable(kinds.map(({ kind }) => kind));
    const { phase = 0 } = start;
    this.#lanes = kinds.map((kind) => new KindLane(kind, settings, { table, phase }));
    const [first] = this.#lanes;
    if (first === undefined) throw new RangeError('Nothing is asked for: settings.kinds is empty.');
    this.#settings = settings;
    this.#table = table;
    this.#first = first;
    this.#inputs = new InputLane(first, settings);
    this.#position = start.offset;
    for (const [id, isin, terms] of start.instruments) {
      const earlier = start.before?.get(id);
      const same = earlier?.isin === isin ? earlier : null;
      const instrument = table.put(id, isin, nowMs, terms);
      // Its record is answered: what the topic shows, if anything, is of this isin.
      for (const plan of instrument.plans) plan.shown = 'own';
      if (same !== null) carryOver(same, instrument);
    }
    for (const lane of this.#lanes) {
      lane.divide(nowMs);
      for (const row of table.rows()) lane.scheduleInSlot(row, nowMs);
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

  get instruments(): Pick<InstrumentTable, 'size' | 'rows' | 'at' | 'get' | 'plan'> {
    return this.#table;
  }

  /** What the instrument of a row is, for a kind by its number in the settings. */
  stateOf(row: number, kind: number, nowMs: number): PriceState {
    return priceState(this.#table.plan(row, kind), this.#table.repaymentDayAt(row), this.#settings.repayment, nowMs);
  }

  /** Takes the record at an offset; those below the position were taken before. */
  read(offset: bigint, id: string, news: InstrumentNews, nowMs: number): void {
    if (offset < this.#position) return;
    this.#position = offset + 1n;
    this.#unanswered += 1;
    const waitsSinceMs = this.#freeMs(nowMs);
    this.#inputs.add({ id, offset, readAtMs: nowMs, waitsSinceMs, meaning: this.#meaningOf(id, news, nowMs) });
  }

  /** Everything below an offset was read, records or not. */
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

  /** Takes answers to the questions of a batch from a position on; there may be more to come. */
  answered(batch: Batch, from: number, answers: BatchResponses): void {
    const lane = batch.inputs.length > 0 ? this.#inputs : this.#lane(batch).refreshes;
    lane.answered(batch, from, answers);
  }

  /**
   * To be called once the transaction is committed.
   *
   * @returns the instruments that began to fail, or fail with another problem than before.
   */
  committed({ parts }: CoreTransaction, nowMs: number): InstrumentFailing[] {
    this.#commitsMs += nowMs - (this.#commitBeganMs ?? nowMs);
    this.#commitBeganMs = null;
    return parts.flatMap(({ batch, results }) => {
      const lane = this.#lane(batch);
      for (const { id } of batch.questions) lane.release(id);
      const failing = results.flatMap((result) => this.#finish(lane, result, nowMs));
      for (const { id } of batch.questions) {
        // Another one of this id was due meanwhile and waited for the end of the earlier one.
        const instrument = this.#table.get(id);
        if (instrument && !lane.isScheduled(instrument) && this.#mayRefresh(lane, instrument)) {
          lane.schedule(instrument, nowMs);
        }
      }
      return failing;
    });
  }

  #finish(lane: KindLane, result: CoreResult, nowMs: number): InstrumentFailing[] {
    if (result.kind === 'dropped') return [];
    this.#unanswered -= result.offsets.length;
    if (result.kind !== 'prices' && result.kind !== 'failure' && result.kind !== 'postponed') return [];
    const { instrument } = result;
    // It has left, or changed its isin, while this was being written.
    if (!this.#table.holds(instrument)) return [];
    if (result.kind === 'postponed') {
      lane.owe(instrument, result.withdrawal, nowMs, this.#mayRefresh(lane, instrument));
      return [];
    }
    const verdict: Verdict =
      result.kind === 'prices'
        ? { kind: 'priced', isPulled: result.answer.isQuotingPulled === true }
        : { ...result, kind: 'failed', isCulprit: result.outcome.kind === 'refused' };
    return lane.judge(instrument, verdict, nowMs, this.#mayRefresh(lane, instrument));
  }

  #meaningOf(id: string, news: InstrumentNews, nowMs: number): InputMeaning {
    const known = this.#table.get(id);
    if (news.kind === 'live' && known !== undefined && known.isin === news.isin) {
      const instrument = this.#table.putTerms(known, news.terms);
      this.#first.unschedule(instrument);
      // It may have been asked for once a day, and is to be asked for more often; or the other way round.
      if (known.terms.repaymentDay !== news.terms.repaymentDay) this.#refreshBesidesFirst(instrument, nowMs);
      return { kind: 'price', instrument };
    }
    if (known !== undefined) for (const lane of this.#lanes) lane.forget(known);
    if (news.kind !== 'live' || news.isin === null) {
      this.#table.delete(id);
      return news.kind === 'live' ? { kind: 'noIsin' } : news;
    }
    const instrument = this.#table.put(id, news.isin, nowMs, news.terms);
    this.#refreshBesidesFirst(instrument, nowMs);
    return { kind: 'price', instrument };
  }

  /** For the kinds that answer no records. */
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

  /** Of one kind at a time, each in its turn: what cannot be written for one is not tied to another. */
  #transaction(nowMs: number): CoreTransaction | null {
    for (let tried = 0; tried < this.#lanes.length; tried++) {
      const lane = this.#lanes[this.#turn];
      this.#turn = (this.#turn + 1) % this.#lanes.length;
      const inputs = lane === this.#first ? this.#inputs.takeAnswered(this.#freeMs(nowMs)) : [];
      const batches = [...inputs, ...(lane?.refreshes.takeAnswered() ?? [])];
      if (batches.length === 0) continue;
      const offset = inputs.length > 0 ? (this.#inputs.firstUnanswered() ?? this.#position) : null;
      const parts = batches.map((batch) => this.#part(batch));
      const leftBehind = offset === null ? null : this.#leftBehind(offset);
      return { parts: leftBehind === null ? parts : [...parts, leftBehind], offset };
    }
    return null;
  }

  /** What is not answered yet, of instruments with a record below an offset: no price of an earlier isin outlives that. */
  #leftBehind(offset: bigint): CommittedPart | null {
    const { kind } = this.#first;
    const results = this.#inputs
      .leftBehind(offset)
      .map((instrument) => postponedResult(kind, instrument, []))
      .filter(({ withdrawal }) => withdrawal !== null);
    return results.length === 0 ? null : { batch: nothingAsked(kind), results };
  }

  /** The time outside of commits: no answer can be taken during a commit, so that time does not count as waiting. */
  #freeMs(nowMs: number): number {
    return (this.#commitBeganMs ?? nowMs) - this.#commitsMs;
  }

  #part(batch: BatchPart): CommittedPart {
    const holds = (instrument: AskedInstrument) => this.#table.holds(instrument);
    const results = batchResults(batch, { holds, reported: this.#settings.reported });
    // What is being written can no longer be superseded.
    for (const { id } of batch.questions) this.#lane(batch).putInFlight(id, null);
    return { batch, results };
  }

  /** An instrument that waits in the queue is asked for there, and one that has left not at all. */
  #mayRefresh(lane: KindLane, instrument: AskedInstrument): boolean {
    return this.#table.holds(instrument) && !(lane === this.#first && this.#inputs.has(instrument.id));
  }

  #lane({ kind }: Pick<Batch, 'kind'>): KindLane {
    const lane = this.#lanes.find((candidate) => candidate.kind === kind);
    if (lane === undefined) throw new RangeError(`Nothing is asked for ${kind}.`);
    return lane;
  }
}
