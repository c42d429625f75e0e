import type { BatchAnswers } from '../../src/processor/batch-answers.ts';
import type { Batch } from '../../src/processor/core/batch.ts';
import type { CoreResult, CoreTransaction, InstrumentNews } from '../../src/processor/core/core-messages.ts';
import { PartitionCore } from '../../src/processor/core/partition-core.ts';
import { ToldFailures } from '../../src/processor/core/told-failures.ts';
import type { ProcessorStep } from './processor-scenario.ts';
import { ShownPrices } from './shown-prices.ts';

export interface ProcessorModules {
  readonly PartitionCore: typeof PartitionCore;
  readonly ToldFailures: typeof ToldFailures;
}

export const REAL_PROCESSOR: ProcessorModules = { PartitionCore, ToldFailures };

export const REFRESH_MS = 60_000;
const LINGER_MS = 250;
const MAX_ITEMS = 3;
const MAX_BACK_OFF_MS = 120_000;
/** Steps in which everything must come to rest once nothing is written any more. */
const REST_STEPS = 2_000;
/** More than a core has to do at a time. */
const MOST_STEPS = 100;

type Failure = Extract<CoreResult, { readonly kind: 'failure' }>;

interface Asked {
  readonly batch: Batch;
  readonly atMs: number;
}

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
    withdrawals: 0,
  };
  readonly #modules: ProcessorModules;
  readonly #log: { readonly id: string; readonly news: InstrumentNews }[] = [];
  /** By offset: how many committed results answer it. */
  readonly #answers: number[] = [];
  readonly #pricedAskMs = new Map<string, number>();
  readonly #shown = new ShownPrices();
  #told = new Set<string>();
  #committed = 0n;
  /** By any process so far; what it has superseded waits for the later record, whoever answers that. */
  #everRead = 0n;
  #nowMs = 1_000;
  #core: PartitionCore;
  #asked: Asked[] = [];
  #answered = new Map<Batch, Asked>();
  #commit: CoreTransaction | null = null;

  constructor(modules: ProcessorModules) {
    this.#modules = modules;
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
        this.#answer(step.batch, step.failing, step.status);
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
      this.#answer(0, [], null);
      this.#end(true);
      this.#nowMs += 100;
      this.#drive();
    }
    for (const [offset] of this.#log.entries()) {
      if (!this.#isAnswered(offset)) this.#violated(`record ${offset} is never answered`);
    }
    if (this.#core.unanswered !== 0) this.#violated(`${this.#core.unanswered} records are taken for unanswered`);
    for (const [id, isin] of this.#table(BigInt(this.#log.length))) {
      const ageMs = this.#nowMs - (this.#pricedAskMs.get(id) ?? Number.NEGATIVE_INFINITY);
      if (ageMs > REFRESH_MS * 1.1) this.#violated(`instrument ${id} (${isin}) has no price for ${ageMs} ms`);
    }
  }

  /** As the loop of a partition does: until a commit is under way, or there is nothing to do. */
  #drive(): void {
    for (let steps = 0; this.#commit === null && steps < MOST_STEPS; steps++) {
      const step = this.#core.next(this.#nowMs);
      if (step.kind === 'wait') return;
      if (step.kind === 'ask') this.#ask(step.batch);
      else {
        this.#commit = step.transaction;
        this.#checkTransaction(step.transaction);
        return;
      }
    }
    if (this.#commit === null) this.#violated('the core does not come to a wait');
  }

  #ask(batch: Batch): void {
    const isins = batch.questions.map(({ isin }) => isin);
    if (new Set(isins).size < isins.length) this.#violated('an isin stands twice in a batch');
    if (isins.length > MAX_ITEMS || isins.length === 0) this.#violated(`a batch of ${isins.length}`);
    const inFlight = [...this.#asked.map(({ batch: other }) => other), ...this.#answered.keys()];
    const ids = new Set(inFlight.flatMap(({ questions }) => questions.map(({ id }) => id)));
    for (const { id } of batch.questions)
      if (ids.has(id)) this.#violated(`instrument ${id} is asked for twice at once`);
    this.#asked.push({ batch, atMs: this.#nowMs });
  }

  #answer(at: number, failing: readonly number[], status: number | null): void {
    const [asked] = this.#asked.splice(at % Math.max(1, this.#asked.length), 1);
    if (asked === undefined) return;
    const outcomes = asked.batch.questions.map(({ id }): BatchAnswers['outcomes'][number] =>
      failing.includes(Number(id))
        ? { kind: 'problem', status, title: null, item: Buffer.alloc(0) }
        : { kind: 'prices', records: [], isQuotingPulled: null },
    );
    this.#answered.set(asked.batch, asked);
    const none = { calls: 1, askMs: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 };
    this.#core.answered(asked.batch, { outcomes, ...none });
  }

  #read(records: number): void {
    for (let count = 0; count < records; count++) {
      const offset = this.#core.position;
      const record = this.#log[Number(offset)];
      if (record === undefined) return;
      this.#core.read(offset, record.id, record.news, this.#nowMs);
      if (offset >= this.#everRead) this.#everRead = offset + 1n;
    }
  }

  /** What is about to be written, at the moment from which it can no longer change. */
  #checkTransaction({ batch, results }: CoreTransaction): void {
    const known = this.#table(this.#core.position);
    for (const result of results) {
      if (result.kind !== 'prices' && result.kind !== 'failure') continue;
      const { id, isin } = result.instrument;
      if (known.get(id) !== isin)
        this.#violated(`the answer for ${isin} is used for ${id}, which is ${known.get(id)} now`);
      if (result.kind === 'failure') {
        this.#checkDeadLetter(batch, result);
        for (const what of this.#shown.violationsOf(result)) this.#violated(what);
      }
    }
  }

  #checkDeadLetter({ kind }: Batch, { instrument, problem, offsets, isDeadLetter }: Failure) {
    const isNews = !this.#told.has(`${kind} ${instrument.id} ${problem}`);
    if (isDeadLetter !== (offsets.length > 0 || isNews))
      this.#violated(`a failure of ${instrument.id} is ${isDeadLetter ? '' : 'no '}dead letter`);
  }

  #end(isTold: boolean): void {
    const transaction = this.#commit;
    if (transaction === null) return;
    this.#commit = null;
    const askedAtMs = this.#answered.get(transaction.batch)?.atMs ?? this.#nowMs;
    this.#answered.delete(transaction.batch);
    for (const result of transaction.results) this.#write(result, askedAtMs, transaction.batch.kind);
    if (transaction.offset !== null) this.#commitOffset(transaction.offset);
    if (isTold) this.#core.committed(transaction, this.#nowMs);
  }

  #write(result: CoreResult, askedAtMs: number, kind: string): void {
    this.counts.results += 1;
    if (result.kind === 'dropped') {
      this.counts.dropped += 1;
      return;
    }
    this.counts.covered += Math.max(0, result.offsets.length - 1);
    for (const offset of result.offsets) this.#answers[Number(offset)] = (this.#answers[Number(offset)] ?? 0) + 1;
    if (result.kind === 'gone' || result.kind === 'noIsin' || result.kind === 'unreadable') {
      this.counts.tombstones += 1;
      this.#shown.takenAway(result.id);
    }
    if (result.kind === 'failure') {
      this.counts.failures += 1;
      if (result.withdrawal !== null) {
        this.counts.withdrawals += 1;
        this.#shown.withdrawn(result.instrument.id, result.instrument.isin);
      }
      this.#told.add(`${kind} ${result.instrument.id} ${result.problem}`);
    }
    if (result.kind === 'prices') {
      this.counts.prices += 1;
      const { id, isin } = result.instrument;
      this.#shown.priced(id, isin);
      if (askedAtMs < (this.#pricedAskMs.get(id) ?? 0)) this.#violated(`an older price of ${id} follows a newer one`);
      this.#pricedAskMs.set(id, askedAtMs);
    }
  }

  #commitOffset(offset: bigint): void {
    if (offset < this.#committed) this.#violated(`the offset goes back from ${this.#committed} to ${offset}`);
    this.#committed = offset;
    for (const [at, count = 0] of [...this.#answers].entries()) {
      if (count > 1) this.#violated(`record ${at} is answered ${count} times`);
      if (at >= offset && count > 0)
        this.#violated(`record ${at} is answered, but a restart at ${offset} reads it again`);
    }
    for (let at = 0; at < offset; at++) {
      if (!this.#isAnswered(at)) this.#violated(`the offset ${offset} leaves record ${at} unanswered`);
    }
    const isRead = (id: string) => !this.#log.some((record, at) => record.id === id && at >= offset);
    for (const what of this.#shown.strangers(this.#table(offset), isRead)) this.#violated(what);
  }

  /** Whether a result answers the record, or a later one of its id, which was read, will. */
  #isAnswered(offset: number): boolean {
    if ((this.#answers[offset] ?? 0) > 0) return true;
    const id = this.#log[offset]?.id;
    const later = this.#log.findIndex((record, at) => at > offset && record.id === id && BigInt(at) < this.#everRead);
    return later > 0 && (BigInt(later) >= this.#committed || this.#isAnswered(later));
  }

  #crash(): void {
    this.counts.crashes += 1;
    this.#asked = [];
    this.#answered = new Map();
    this.#commit = null;
    this.#told = new Set();
    this.#shown.crashed();
    this.#core = this.#start();
  }

  #start(): PartitionCore {
    const { PartitionCore: Core, ToldFailures: Told } = this.#modules;
    const settings = {
      kinds: [{ kind: 'overview' as const, refreshIntervalMs: REFRESH_MS }],
      lingerMs: LINGER_MS,
      maxItems: () => MAX_ITEMS,
      maxBackoffMs: MAX_BACK_OFF_MS,
      epochMs: 0,
      random: () => 0.5,
      told: new Told(),
    };
    return new Core(settings, { offset: this.#committed, instruments: this.#table(this.#committed) }, this.#nowMs);
  }

  #table(offset: bigint): Map<string, string> {
    const table = new Map<string, string>();
    for (const { id, news } of this.#log.slice(0, Number(offset))) {
      if (news.kind === 'live' && news.isin !== null) table.set(id, news.isin);
      else table.delete(id);
    }
    return table;
  }

  #violated(what: string): void {
    this.violations.push(what);
  }
}

function newsOf(step: Extract<ProcessorStep, { kind: 'write' }>): InstrumentNews {
  if (step.news === 'live') return { kind: 'live', isin: step.isin === null ? null : `isin-${step.isin}` };
  if (step.news === 'gone') return { kind: 'gone' };
  return { kind: 'unreadable', key: String(step.id), value: Buffer.alloc(1), reason: 'it is of another kind' };
}

/** Plays a scenario to its rest; ends at the first step that breaks a rule. */
export function runProcessorScenario(steps: readonly ProcessorStep[], modules = REAL_PROCESSOR): ProcessorWorld {
  const world = new ProcessorWorld(modules);
  for (const step of steps) {
    world.do(step);
    if (world.violations.length > 0) return world;
  }
  world.rest();
  return world;
}
