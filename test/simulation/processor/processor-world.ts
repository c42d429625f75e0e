import type { Batch } from '../../../src/prices/core/batch.ts';
import { CallQueue } from '../../../src/prices/core/call-queue.ts';
import { type CoreResult, type CoreTransaction, ReportedFailures } from '../../../src/prices/core/core-messages.ts';
import type { InstrumentNews } from '../../../src/prices/core/instrument.ts';
import { PartitionCore } from '../../../src/prices/core/partition-core.ts';
import { NO_TERMS } from '../../../src/records/avro/instrument-terms.ts';
import { ProcessorCalls } from './processor-calls.ts';
import { coreSettings, KINDS, LINGER_MS, MAX_ITEMS, PATIENCE_MS, REFRESH_MS } from './processor-core-settings.ts';
import type { ProcessorScenario, ProcessorStep } from './processor-scenario.ts';

interface LoggedRecord {
  readonly id: string;
  readonly news: InstrumentNews;
}

/** Which records of the instruments topic committed results answer, and what the committed offset says of them. */
class AnsweredRecords {
  readonly #log: readonly LoggedRecord[];
  readonly #violated: (what: string) => void;
  /** By offset: how many committed results answer it. */
  readonly #answers: number[] = [];
  /** By any process so far; what it has superseded waits for the later record, whichever process answers that. */
  #everRead = 0n;
  /** By offset: when the present process read it, in time outside of commits. */
  readonly #readAtMs = new Map<number, number>();
  #committed = 0n;

  constructor(log: readonly LoggedRecord[], violated: (what: string) => void) {
    this.#log = log;
    this.#violated = violated;
  }

  get committed(): bigint {
    return this.#committed;
  }

  read(offset: bigint, freeMs: number): void {
    this.#readAtMs.set(Number(offset), freeMs);
    if (offset >= this.#everRead) this.#everRead = offset + 1n;
  }

  crashed(): void {
    this.#readAtMs.clear();
  }

  /** How long a record has waited since the present process read it. */
  waitedMs(offset: bigint, freeMs: number): number {
    return freeMs - (this.#readAtMs.get(Number(offset)) ?? Number.NEGATIVE_INFINITY);
  }

  /** Records that the present process read before then, and that no result answers. */
  overdue(beforeMs: number): string[] {
    return [...this.#readAtMs].flatMap(([at, ms]) =>
      ms < beforeMs && (this.#answers[at] ?? 0) === 0 && BigInt(at) >= this.#committed
        ? `record ${at} has waited since ${ms} ms, and should not have since ${beforeMs} ms`
        : [],
    );
  }

  answer(offsets: readonly bigint[]): void {
    for (const offset of offsets) this.#answers[Number(offset)] = (this.#answers[Number(offset)] ?? 0) + 1;
  }

  commit(offset: bigint): void {
    if (offset < this.#committed) this.#violated(`the offset goes back from ${this.#committed} to ${offset}`);
    this.#committed = offset;
    for (const [at, count = 0] of [...this.#answers].entries()) {
      if (count > 1) this.#violated(`record ${at} is answered ${count} times`);
      if (at >= offset && count > 0)
        this.#violated(`record ${at} is answered, but a restart at ${offset} reads it again`);
    }
    for (let at = 0; at < offset; at++) {
      if (!this.isAnswered(at)) this.#violated(`the offset ${offset} leaves record ${at} unanswered`);
    }
  }

  /** Whether a result answers the record, or a later one of its id, which was read, will. */
  isAnswered(offset: number): boolean {
    if ((this.#answers[offset] ?? 0) > 0) return true;
    const id = this.#log[offset]?.id;
    const later = this.#log.findIndex((record, at) => at > offset && record.id === id && BigInt(at) < this.#everRead);
    return later > 0 && (BigInt(later) >= this.#committed || this.isAnswered(later));
  }
}

function newsOf(step: Extract<ProcessorStep, { kind: 'write' }>): InstrumentNews {
  if (step.news === 'live')
    return { kind: 'live', isin: step.isin === null ? null : `isin-${step.isin}`, terms: NO_TERMS };
  if (step.news === 'gone') return { kind: 'gone' };
  return { kind: 'unreadable', key: String(step.id), value: Buffer.alloc(1), reason: 'it is of another kind' };
}

/** The isin by id of what is live and has one, by the records below an offset. */
function tableAt(log: readonly LoggedRecord[], offset: bigint): Map<string, string> {
  const table = new Map<string, string>();
  for (const { id, news } of log.slice(0, Number(offset))) {
    if (news.kind === 'live' && news.isin !== null) table.set(id, news.isin);
    else table.delete(id);
  }
  return table;
}

type Failure = Extract<CoreResult, { readonly kind: 'failure' }>;

/** What a consumer of the topic of prices sees of each instrument, and when a price may be taken away. */
class ShownPrices {
  /** The isin of the price that is shown for an id, whether or not it is still its own. */
  readonly #shown = new Map<string, string>();
  /** Ids whose price this process took away, until it writes another, with the isin that has none. */
  readonly #withdrawn = new Map<string, string>();

  /** Since when the price that is shown is known to be that of another isin. */
  readonly #strangers = new Map<string, { readonly isin: string; readonly sinceMs: number }>();

  priced(id: string, isin: string): void {
    this.takenAway(id);
    this.#shown.set(id, isin);
  }

  takenAway(id: string): void {
    this.#shown.delete(id);
    this.#withdrawn.delete(id);
  }

  withdrawn(id: string, isin: string): void {
    this.takenAway(id);
    this.#withdrawn.set(id, isin);
  }

  /** A new process knows of no tombstone. */
  crashed(): void {
    this.#withdrawn.clear();
    this.#strangers.clear();
  }

  /** Prices of another isin than the table gives, which have stood for too long though this process knew it. */
  overdue(table: ReadonlyMap<string, string>, nowMs: number, patienceMs: number): string[] {
    for (const [id, { isin }] of [...this.#strangers]) {
      if (this.#shown.get(id) !== isin || table.get(id) === isin) this.#strangers.delete(id);
    }
    for (const [id, isin] of this.#shown) {
      if (table.get(id) !== isin && !this.#strangers.has(id)) this.#strangers.set(id, { isin, sinceMs: nowMs });
    }
    return [...this.#strangers]
      .filter(([, { sinceMs }]) => nowMs > sinceMs + patienceMs)
      .map(([id, { isin }]) => `the price of ${isin} still stands for ${id}, which is ${table.get(id)}`);
  }

  /** What is wrong about what a failure does: a price stays until the provider says that there is none, and goes once. */
  violationsOf({ instrument: { id, isin }, problem, withdrawal, offsets }: Failure): string[] {
    const isRefresh = offsets.length === 0;
    const isReported = this.#withdrawn.get(id) === isin;
    const mayPass = problem !== 'status 404' && problem !== 'none';
    const violations: string[] = [];
    if (isRefresh && withdrawal !== null && isReported) violations.push(`the price of ${id} is taken away twice`);
    if (isRefresh && withdrawal !== null && mayPass && this.#shown.get(id) === isin)
      violations.push(`the price of ${id} goes for ${problem}, which may pass`);
    if (withdrawal === null && problem === 'status 404' && !isReported)
      violations.push(`the provider has no price for ${id}, and that is not shown`);
    return violations;
  }

  /** Prices of another isin than the answered records give; `isAnswered` says that no later record is still to come. */
  strangers(table: ReadonlyMap<string, string>, isAnswered: (id: string) => boolean): string[] {
    return [...this.#shown]
      .filter(([id, isin]) => table.get(id) !== isin && isAnswered(id))
      .map(([id, isin]) => `the price of ${isin} is shown for ${id}, which is ${table.get(id)}`);
  }
}

/** The failures that one process has reported. */
class ProcessFailures {
  readonly #reported = new Set<string>();

  reported(kind: string, { instrument, problem }: Failure): void {
    this.#reported.add(`${kind} ${instrument.id} ${problem}`);
  }

  violationsOf({ kind }: { readonly kind: string }, { instrument, problem, offsets, isDeadLetter }: Failure): string[] {
    const isNews = !this.#reported.has(`${kind} ${instrument.id} ${problem}`);
    if (isDeadLetter === (offsets.length > 0 || isNews)) return [];
    return [`a failure of ${instrument.id} is ${isDeadLetter ? '' : 'no '}dead letter`];
  }
}

export interface ProcessorModules {
  readonly PartitionCore: typeof PartitionCore;
  readonly ReportedFailures: typeof ReportedFailures;
  readonly CallQueue: typeof CallQueue;
}

export const REAL_PROCESSOR: ProcessorModules = { PartitionCore, ReportedFailures, CallQueue };

/** Steps in which everything must come to rest once nothing is written any more. */
const REST_STEPS = 2_600;
/** By which what is expected may come later, for the steps that it takes. */
const SLACK_MS = 2_000;
/** More than a core has to do at a time. */
const MOST_STEPS = 100;

/** A topic of instruments, a provider, and one process after the other; every rule is checked at every step. */
export class ProcessorWorld {
  readonly violations: string[] = [];
  readonly counts = {
    results: 0,
    prices: 0,
    failures: 0,
    tombstones: 0,
    dropped: 0,
    crashes: 0,
    covered: 0,
    spoilt: 0,
    withdrawals: 0,
    postponed: 0,
    passedUnanswered: 0,
  };
  readonly #modules: ProcessorModules;
  readonly #log: LoggedRecord[] = [];
  readonly #answers = new AnsweredRecords(this.#log, (what) => this.#violated(what));
  readonly #pricedAskMs = new Map<string, number>();
  readonly #shown = new ShownPrices();
  #nowMs = 1_000;
  #core: PartitionCore;
  #calls: ProcessorCalls;
  /** When what is asked for and not committed was asked for, by kind and id. */
  #inFlight = new Map<string, number>();
  /** The failures that the present process has reported. */
  #failures = new ProcessFailures();
  #commit: CoreTransaction | null = null;
  #scenario: Omit<ProcessorScenario, 'steps'>;
  /** By kind, id and isin: what was found to spoil its calls. */
  readonly #refused = new Set<string>();
  /** Time outside of commits: the present one began at the second of them. */
  #commitsMs = 0;
  #commitBeganMs = 0;

  constructor(modules: ProcessorModules, scenario: Omit<ProcessorScenario, 'steps'>) {
    this.#modules = modules;
    this.#scenario = scenario;
    this.#core = this.#start();
    this.#calls = this.#newCalls();
  }

  do(step: ProcessorStep): void {
    switch (step.kind) {
      case 'write':
        this.#log.push({ id: String(step.id), news: newsOf(step) });
        break;
      case 'read':
        this.#read(step.records);
        break;
      case 'pass':
        this.#nowMs += step.ms;
        break;
      case 'answer':
        this.#calls.end(step.call, step, this.#nowMs);
        break;
      case 'commit':
        this.#read(step.readsMeanwhile);
        if (step.ends !== 'diedBefore') this.#end(step.ends === 'well');
        if (step.ends !== 'well') this.#crash();
        break;
      case 'heal':
        this.#scenario = { ...this.#scenario, spoilers: [] };
        this.#calls.heal();
        break;
      case 'crash':
        this.#crash();
    }
    this.#drive();
  }

  /** Nothing more is written: all must be answered, and every instrument priced within an interval. */
  rest(): void {
    for (let steps = 0; steps < REST_STEPS; steps++) {
      this.#read(2);
      this.#calls.endAll(this.#nowMs);
      this.#end(true);
      this.#nowMs += 100;
      this.#drive();
    }
    for (const [offset] of this.#log.entries()) {
      if (!this.#answers.isAnswered(offset)) this.#violated(`record ${offset} is never answered`);
    }
    if (this.#core.unanswered !== 0) this.#violated(`${this.#core.unanswered} records are taken for unanswered`);
    const table = tableAt(this.#log, BigInt(this.#log.length));
    const isAnyGood = [...table.values()].some((isin) => !this.#calls.isSpoiler({ isin }));
    for (const [id, isin] of table) {
      for (const kind of KINDS) {
        if (kind === this.#scenario.held) continue;
        if (this.#calls.isSpoiler({ isin })) {
          const isFound = this.#refused.has(`${kind} ${id} ${isin}`);
          if (isAnyGood && !isFound)
            this.#violated(`${kind} of ${id} has no result, although ${isin} spoils its calls`);
          continue;
        }
        const ageMs = this.#nowMs - (this.#pricedAskMs.get(`${kind} ${id}`) ?? Number.NEGATIVE_INFINITY);
        if (ageMs > REFRESH_MS * 1.1 + SLACK_MS) this.#violated(`${kind} of ${id} (${isin}) is ${ageMs} ms old`);
      }
    }
  }

  /** As the loop of a partition does: until a commit is under way, or there is nothing to do. */
  #drive(): void {
    this.#driveCore();
    this.#calls.make(this.#nowMs);
  }

  #driveCore(): void {
    for (let steps = 0; this.#commit === null && steps < MOST_STEPS; steps++) {
      const step = this.#core.next(this.#nowMs);
      if (step.kind === 'wait') {
        this.#checkPatience();
        return;
      }
      if (step.kind === 'ask') this.#ask(step.batch);
      else {
        this.#commit = step.transaction;
        this.#commitBeganMs = this.#nowMs;
        this.#checkTransaction(step.transaction);
        return;
      }
    }
    if (this.#commit === null) this.#violated('the core does not come to a wait');
  }

  get #freeMs(): number {
    return (this.#commit === null ? this.#nowMs : this.#commitBeganMs) - this.#commitsMs;
  }

  /** There is nothing to do now: no record has waited for too long, nor has the price of another isin stood for too long. */
  #checkPatience(): void {
    for (const what of this.#answers.overdue(this.#freeMs - PATIENCE_MS)) this.#violated(what);
    const known = tableAt(this.#log, this.#core.position);
    for (const what of this.#shown.overdue(known, this.#freeMs, PATIENCE_MS)) this.#violated(what);
  }

  #ask(batch: Batch): void {
    const isins = batch.questions.map(({ isin }) => isin);
    if (new Set(isins).size < isins.length) this.#violated('an isin stands twice in a batch');
    if (isins.length > MAX_ITEMS || isins.length === 0) this.#violated(`a batch of ${isins.length}`);
    for (const { id } of batch.questions) {
      const key = `${batch.kind} ${id}`;
      if (this.#inFlight.has(key)) this.#violated(`${key} is asked for twice at once`);
      this.#inFlight.set(key, this.#nowMs);
    }
    this.#calls.ask(batch, this.#nowMs);
  }

  #read(records: number): void {
    for (let count = 0; count < records; count++) {
      const offset = this.#core.position;
      const record = this.#log[Number(offset)];
      if (record === undefined) return;
      this.#core.read(offset, record.id, record.news, this.#nowMs);
      this.#answers.read(offset, this.#freeMs);
    }
  }

  /** What is about to be written, at the moment from which it can no longer change. */
  #checkTransaction({ parts }: CoreTransaction): void {
    const known = tableAt(this.#log, this.#core.position);
    if (new Set(parts.map(({ batch }) => batch.kind)).size !== 1) this.#violated('kinds share a transaction');
    const results = parts.flatMap((part) => part.results.filter((result) => result.kind !== 'dropped'));
    const isPostponed = results.some(({ kind, offsets }) => kind === 'postponed' && offsets.length > 0);
    // Behind the postponed records, the record that has waited for too long may need no price.
    const unpriced = results.flatMap(({ kind, offsets }) => (kind === 'prices' || kind === 'failure' ? [] : offsets));
    const waitedMs = Math.max(...unpriced.map((offset) => this.#answers.waitedMs(offset, this.#freeMs)));
    if (isPostponed && waitedMs < LINGER_MS) this.#violated(`a record is postponed after ${waitedMs} ms`);
    for (const { batch, results } of parts) {
      for (const result of results) {
        if (result.kind !== 'prices' && result.kind !== 'failure' && result.kind !== 'postponed') continue;
        const { id, isin } = result.instrument;
        if (known.get(id) !== isin)
          this.#violated(`the answer for ${isin} is used for ${id}, which is ${known.get(id)} now`);
        if (result.kind !== 'failure') continue;
        for (const what of this.#failures.violationsOf(batch, result)) this.#violated(what);
        if (batch.kind === 'overview') for (const what of this.#shown.violationsOf(result)) this.#violated(what);
      }
    }
  }

  #end(isReported: boolean): void {
    const transaction = this.#commit;
    if (transaction === null) return;
    this.#commit = null;
    this.#commitsMs += this.#nowMs - this.#commitBeganMs;
    for (const { batch, results } of transaction.parts) {
      for (const result of results) this.#write(result, batch.kind);
      for (const { id } of batch.questions) this.#inFlight.delete(`${batch.kind} ${id}`);
    }
    if (transaction.offset !== null) this.#commitOffset(transaction.offset);
    if (isReported) this.#core.committed(transaction, this.#nowMs);
  }

  #write(result: CoreResult, kind: string): void {
    this.counts.results += 1;
    if (result.kind === 'dropped') {
      this.counts.dropped += 1;
      return;
    }
    this.counts.covered += Math.max(0, result.offsets.length - 1);
    this.#answers.answer(result.offsets);
    if (result.kind === 'gone' || result.kind === 'noIsin' || result.kind === 'unreadable') {
      this.counts.tombstones += 1;
      this.#shown.takenAway(result.id);
    }
    if (result.kind === 'postponed') {
      this.counts.postponed += result.offsets.length;
      if (result.offsets.length === 0) this.counts.passedUnanswered += 1;
      if (result.withdrawal !== null) this.#shown.withdrawn(result.instrument.id, result.instrument.isin);
    }
    if (result.kind === 'failure') {
      this.counts.failures += 1;
      if (result.withdrawal !== null) {
        this.counts.withdrawals += 1;
        this.#shown.withdrawn(result.instrument.id, result.instrument.isin);
      }
      this.#failures.reported(kind, result);
      if (result.outcome.kind === 'refused') {
        this.counts.spoilt += 1;
        this.#refused.add(`${kind} ${result.instrument.id} ${result.instrument.isin}`);
      }
    }
    if (result.kind === 'prices') {
      this.counts.prices += 1;
      const { instrument } = result;
      const key = `${kind} ${instrument.id}`;
      const askedAtMs = this.#inFlight.get(key) ?? this.#nowMs;
      if (kind === 'overview') this.#shown.priced(instrument.id, instrument.isin);
      if (askedAtMs < (this.#pricedAskMs.get(key) ?? 0)) this.#violated(`an older price of ${key} follows a newer one`);
      this.#pricedAskMs.set(key, askedAtMs);
    }
  }

  #commitOffset(offset: bigint): void {
    this.#answers.commit(offset);
    const isRead = (id: string) => !this.#log.some((record, at) => record.id === id && at >= offset);
    for (const what of this.#shown.strangers(tableAt(this.#log, offset), isRead)) this.#violated(what);
  }

  #crash(): void {
    this.counts.crashes += 1;
    this.#inFlight = new Map();
    this.#commit = null;
    this.#failures = new ProcessFailures();
    this.#shown.crashed();
    this.#answers.crashed();
    this.#commitsMs = 0;
    this.#core = this.#start();
    this.#calls = this.#newCalls();
  }

  /** What the process knew of calls dies with it. */
  #newCalls(): ProcessorCalls {
    const core = this.#core;
    return new ProcessorCalls({
      ...this.#scenario,
      makeQueue: this.#modules.CallQueue,
      violated: (what) => this.#violated(what),
      isWanted: (batch, at) => core.isWanted(batch, at),
      isKnown: ({ id, isin }) => tableAt(this.#log, core.position).get(id) === isin,
      answered: (batch, positions, outcomes) => core.answered(batch, positions, outcomes),
    });
  }

  #start(): PartitionCore {
    const { PartitionCore: Core, ReportedFailures: Reported } = this.#modules;
    const settings = coreSettings(new Reported());
    const { committed } = this.#answers;
    return new Core(settings, { offset: committed, instruments: tableAt(this.#log, committed) }, this.#nowMs);
  }

  #violated(what: string): void {
    this.violations.push(what);
  }
}
