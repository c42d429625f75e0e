import type { BatchResponses } from '../../../src/processor/batch-responses.ts';
import type { Batch } from '../../../src/processor/core/batch.ts';
import type { CoreResult, CoreTransaction } from '../../../src/processor/core/core-messages.ts';
import { PartitionCore } from '../../../src/processor/core/partition-core.ts';
import { ReportedFailures } from '../../../src/processor/core/reported-failures.ts';
import { ProcessFailures } from '../process-failures.ts';
import { ShownPrices } from '../shown-prices.ts';
import { coreSettings, KINDS, MAX_ITEMS, PATIENCE_MS, REFRESH_MS } from './processor-core-settings.ts';
import { AnsweredRecords, type LoggedRecord, newsOf, tableAt } from './processor-records.ts';
import type { ProcessorScenario, ProcessorStep } from './processor-scenario.ts';

export interface ProcessorModules {
  readonly PartitionCore: typeof PartitionCore;
  readonly ReportedFailures: typeof ReportedFailures;
}

export const REAL_PROCESSOR: ProcessorModules = { PartitionCore, ReportedFailures };

/** Steps in which everything must come to rest once nothing is written any more. */
const REST_STEPS = 2_600;
/** By which what is expected may come later, for the steps that it takes. */
const SLACK_MS = 2_000;
/** More than a core has to do at a time. */
const MOST_STEPS = 100;

interface Asked {
  readonly batch: Batch;
  /** Positions of questions without an answer, ascending. */
  unanswered: number[];
}

type Answering = Pick<Extract<ProcessorStep, { kind: 'answer' }>, 'part' | 'failing' | 'status' | 'isSpoilt'>;

const WELL: Answering = { part: 'all', failing: [], status: null, isSpoilt: false };
/** Of one kind, in flight: of records, of records that wait no longer, of refreshes and of what is asked for alone. */
const MOST_BATCHES = 2 + 3 + 4 + 2;

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
    leftBehind: 0,
  };
  readonly #modules: ProcessorModules;
  readonly #log: LoggedRecord[] = [];
  readonly #answers = new AnsweredRecords(this.#log, (what) => this.#violated(what));
  readonly #pricedAskMs = new Map<string, number>();
  readonly #shown = new ShownPrices();
  #nowMs = 1_000;
  #core: PartitionCore;
  #asked: Asked[] = [];
  /** When what is asked for and not committed was asked for, by kind and id. */
  #inFlight = new Map<string, number>();
  /** What failures of the present process were reported, and which instruments have spoilt calls. */
  #failures = new ProcessFailures();
  #commit: CoreTransaction | null = null;
  readonly #held: ProcessorScenario['held'];
  /** Time outside of commits: the present one began at the second of them. */
  #commitsMs = 0;
  #commitBeganMs = 0;

  constructor(modules: ProcessorModules, held: ProcessorScenario['held']) {
    this.#modules = modules;
    this.#held = held;
    this.#core = this.#start();
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
        this.#answer(step.batch, step);
        break;
      case 'commit':
        this.#read(step.readsMeanwhile);
        if (step.ends !== 'diedBefore') this.#end(step.ends === 'well');
        if (step.ends !== 'well') this.#crash();
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
      this.#answer(0, WELL);
      this.#end(true);
      this.#nowMs += 100;
      this.#drive();
    }
    for (const [offset] of this.#log.entries()) {
      if (!this.#answers.isAnswered(offset)) this.#violated(`record ${offset} is never answered`);
    }
    if (this.#core.unanswered !== 0) this.#violated(`${this.#core.unanswered} records are taken for unanswered`);
    for (const [id, isin] of tableAt(this.#log, BigInt(this.#log.length))) {
      for (const kind of KINDS) {
        if (kind === this.#held) continue;
        const ageMs = this.#nowMs - (this.#pricedAskMs.get(`${kind} ${id}`) ?? Number.NEGATIVE_INFINITY);
        if (ageMs > REFRESH_MS * 1.1 + SLACK_MS) this.#violated(`${kind} of ${id} (${isin}) is ${ageMs} ms old`);
      }
    }
  }

  /** As the loop of a partition does: until a commit is under way, or there is nothing to do. */
  #drive(): void {
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
    for (const kind of KINDS) {
      const asked = this.#asked.filter(({ batch }) => batch.kind === kind).length;
      if (asked > MOST_BATCHES) this.#violated(`${asked} batches of ${kind} are asked for at once`);
    }
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
    const isSuspected = batch.questions.some((one) => this.#failures.isSuspect(one, batch.kind));
    if (isSuspected && (isins.length > 1 || !batch.isAlone)) this.#violated('one that spoilt a call shares another');
    if (!isSuspected && batch.isAlone) this.#violated('one that spoilt no call is given little patience');
    this.#asked.push({ batch, unanswered: isins.map((_, at) => at) });
  }

  #answer(batch: number, { part, failing, status, isSpoilt }: Answering): void {
    const open = this.#asked.filter((one) => one.batch.kind !== this.#held);
    const asked = open[batch % Math.max(1, open.length)];
    if (asked === undefined) return;
    const { unanswered } = asked;
    const answered = part === 'all' ? unanswered : part === 'first' ? unanswered.slice(0, 1) : unanswered.slice(-1);
    asked.unanswered = unanswered.filter((at) => !answered.includes(at));
    if (asked.unanswered.length === 0) this.#asked = this.#asked.filter((one) => one !== asked);
    for (const at of answered) {
      const isFailing = failing.includes(Number(asked.batch.questions[at]?.id));
      const failure: BatchResponses['outcomes'][number] = isSpoilt
        ? { kind: 'refused', status: 500 }
        : { kind: 'problem', status, title: null, item: Buffer.alloc(0) };
      const outcome = isFailing ? failure : { kind: 'prices' as const, records: [], isQuotingPulled: null };
      const none = { calls: 1, askMs: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 };
      this.#core.answered(asked.batch, at, { outcomes: [outcome], ...none });
    }
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
      if (result.offsets.length === 0) this.counts.leftBehind += 1;
      if (result.withdrawal !== null) this.#shown.withdrawn(result.instrument.id, result.instrument.isin);
    }
    if (result.kind === 'failure') {
      this.counts.failures += 1;
      if (result.withdrawal !== null) {
        this.counts.withdrawals += 1;
        this.#shown.withdrawn(result.instrument.id, result.instrument.isin);
      }
      this.#failures.reported(kind, result);
      if (result.outcome.kind === 'refused') this.counts.spoilt += 1;
    }
    if (result.kind === 'prices') {
      this.counts.prices += 1;
      const { instrument } = result;
      const key = `${kind} ${instrument.id}`;
      const askedAtMs = this.#inFlight.get(key) ?? this.#nowMs;
      if (kind === 'overview') this.#shown.priced(instrument.id, instrument.isin);
      if (askedAtMs < (this.#pricedAskMs.get(key) ?? 0)) this.#violated(`an older price of ${key} follows a newer one`);
      this.#pricedAskMs.set(key, askedAtMs);
      this.#failures.priced(instrument, kind);
    }
  }

  #commitOffset(offset: bigint): void {
    this.#answers.commit(offset);
    const isRead = (id: string) => !this.#log.some((record, at) => record.id === id && at >= offset);
    for (const what of this.#shown.strangers(tableAt(this.#log, offset), isRead)) this.#violated(what);
  }

  #crash(): void {
    this.counts.crashes += 1;
    this.#asked = [];
    this.#inFlight = new Map();
    this.#commit = null;
    this.#failures = new ProcessFailures();
    this.#shown.crashed();
    this.#answers.crashed();
    this.#commitsMs = 0;
    this.#core = this.#start();
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
