import { ConnectorError } from '../../../src/errors.ts';
import type { PriceKind, QuestionOutcome } from '../../../src/prices/bulk-prices.ts';
import type { Batch } from '../../../src/prices/core/batch.ts';
import type { Call, CallQueue } from '../../../src/prices/core/call-queue.ts';
import type { AskedInstrument } from '../../../src/prices/core/instrument.ts';
import { seededRandom } from '../random.ts';
import { MAX_ITEMS } from './processor-core-settings.ts';
import type { ProcessorScenario, Spoil } from './processor-scenario.ts';

const CONCURRENCY = 2;
/** For fresh questions, for suspected ones, and one that asks whether it is over. */
const MOST_CALLS = CONCURRENCY + 4 + 1;
const HTTP_TIMEOUT_MS = 30_000;
const ANSWERS_OWED = 3;
const RETRY_AFTER_MS = 1_000;

interface Question {
  readonly batch: Batch;
  readonly at: number;
  readonly instrument: AskedInstrument;
  readonly question: { readonly instrumentId: string; readonly isin: string };
  /** For each of its failed calls, how many calls of the kind were answered before. */
  readonly failedAfter: number[];
  /** It was known to spoil its calls when it was asked. */
  readonly isOwing: boolean;
  isWanted(): boolean;
}

export interface CallFate {
  /** Ids whose items the provider answers with a problem of this status. */
  readonly failing: readonly number[];
  readonly status: number | null;
  /** The call fails, although none of its items spoils it. */
  readonly isStumble: boolean;
}

interface KindCalls {
  readonly queue: CallQueue<Question>;
  open: Call<Question>[];
  answers: number;
  pausedUntilMs: number;
  /** By isin, of those that were found to blame. */
  readonly owed: Map<string, number>;
}

interface Options extends Pick<ProcessorScenario, 'held' | 'spoilers' | 'spoil'> {
  readonly makeQueue: typeof CallQueue;
  readonly violated: (what: string) => void;
  readonly isWanted: (batch: Batch, at: number) => boolean;
  readonly isKnown: (instrument: AskedInstrument) => boolean;
  readonly answered: (batch: Batch, positions: readonly number[], outcomes: readonly QuestionOutcome[]) => void;
}

/** The calls of one process to a provider some of whose items spoil their calls; every rule is checked at each call. */
export class ProcessorCalls {
  readonly #options: Options;
  readonly #kinds = new Map<PriceKind, KindCalls>();
  #isHealed = false;

  constructor(options: Options) {
    this.#options = options;
  }

  ask(batch: Batch, nowMs: number): void {
    const { queue, owed } = this.#callsFor(batch.kind);
    const questions = batch.questions.map((instrument, at): Question => {
      const isOwing = (owed.get(instrument.isin) ?? 0) > 0;
      const question = { instrumentId: instrument.id, isin: instrument.isin };
      const isWanted = () => this.#options.isWanted(batch, at);
      return { batch, at, instrument, question, failedAfter: [], isOwing, isWanted };
    });
    queue.put(questions, nowMs);
  }

  /** Makes all calls that are to be made now. */
  make(nowMs: number): void {
    for (const [kind, calls] of this.#kinds) {
      for (let call = calls.queue.next(nowMs); call; call = calls.queue.next(nowMs)) {
        this.#check(kind, calls, call, nowMs);
        calls.open.push(call);
      }
      if (calls.open.length > MOST_CALLS) this.#options.violated(`${calls.open.length} calls for ${kind} at once`);
    }
  }

  /** Ends one of the open calls, if its time has come. */
  end(number: number, fate: CallFate, nowMs: number): void {
    const open = [...this.#kinds].flatMap(([kind, calls]) => calls.open.map((call) => ({ kind, calls, call })));
    const one = open[number % Math.max(1, open.length)];
    if (one !== undefined) this.#end(one.kind, one.calls, one.call, fate, nowMs);
  }

  endAll(nowMs: number): void {
    for (const [kind, calls] of this.#kinds) for (const call of calls.open) this.#end(kind, calls, call, WELL, nowMs);
  }

  /** No item spoils its calls any more. */
  heal(): void {
    this.#isHealed = true;
  }

  isSpoiler({ isin }: Pick<AskedInstrument, 'isin'>): boolean {
    return !this.#isHealed && this.#options.spoilers.some((number) => isin === `isin-${number}`);
  }

  #end(kind: PriceKind, calls: KindCalls, call: Call<Question>, fate: CallFate, nowMs: number): void {
    const { held, spoil } = this.#options;
    const { asked } = call.group;
    const isSpoilt = asked.some(({ instrument }) => this.isSpoiler(instrument));
    const how = kind === held ? 'hang' : isSpoilt ? spoil : fate.isStumble ? 'reset' : null;
    if (how === 'hang' && nowMs < call.sentMs + Math.min(HTTP_TIMEOUT_MS, call.timeoutMs)) return;
    calls.open = calls.open.filter((one) => one !== call);
    if (how === null) this.#answer(calls, call, fate, nowMs);
    else {
      const error = SPOILS[how];
      if (error.retryAfterMs) calls.pausedUntilMs = nowMs + error.retryAfterMs;
      if (call.role !== 'probe') for (const { failedAfter } of asked) failedAfter.push(calls.answers);
      calls.queue.failed(call, error, nowMs);
    }
  }

  #answer(calls: KindCalls, call: Call<Question>, { failing, status }: CallFate, nowMs: number): void {
    const { asked } = call.group;
    for (const one of asked) {
      const isFailing = failing.includes(Number(one.instrument.id));
      const problem = { kind: 'problem' as const, status, item: Buffer.alloc(0) };
      this.#handOn(one, isFailing ? problem : { kind: 'prices' as const, records: [], isQuotingPulled: null });
    }
    const isin = asked[0]?.instrument.isin ?? '';
    const owed = calls.owed.get(isin) ?? 0;
    if (asked.length === 1 && owed > 0 && call.role === 'suspected') calls.owed.set(isin, owed - 1);
    calls.answers += 1;
    calls.queue.answered(call, nowMs);
  }

  #check(kind: string, calls: KindCalls, { group: { asked }, role }: Call<Question>, nowMs: number): void {
    const { violated, isKnown } = this.#options;
    const isins = asked.map(({ instrument }) => instrument.isin);
    if (new Set(isins).size < isins.length) violated('an isin stands twice in a call');
    if (isins.length > MAX_ITEMS || isins.length === 0) violated(`a call of ${isins.length}`);
    const inFlight = new Set(calls.open.flatMap(({ group }) => group.asked.map(({ instrument }) => instrument.id)));
    for (const { instrument, isOwing } of asked) {
      if (inFlight.has(instrument.id)) violated(`${kind} of ${instrument.id} is in two calls at once`);
      if (!isKnown(instrument)) violated(`${instrument.isin} is asked, which ${instrument.id} no longer has`);
      if (isOwing && asked.length > 1) violated('one that spoilt a call shares another');
    }
    if (role === 'suspected' && calls.answers === 0) violated('a call is repeated although nothing was answered');
    if (nowMs < calls.pausedUntilMs) violated('a call is made before Retry-After is over');
    if (role === 'probe' && calls.open.some((other) => other.role === role))
      violated('two calls ask whether it is over');
  }

  #handOn({ batch, at }: Question, outcome: QuestionOutcome): void {
    this.#options.answered(batch, [at], [outcome]);
  }

  #callsFor(kind: PriceKind): KindCalls {
    const known = this.#kinds.get(kind);
    if (known !== undefined) return known;
    const { makeQueue: Queue, violated } = this.#options;
    const queue = new Queue<Question>({
      maxItems: MAX_ITEMS,
      concurrency: CONCURRENCY,
      togetherMs: 0,
      random: seededRandom(1),
      kind,
      events: {
        batchBisected() {
          if (calls.answers === 0) violated('a call is divided although nothing was answered');
        },
        batchLimitLearnt() {},
        bulkAttemptFailed() {},
      },
      gaveUp() {},
      ended: (asked, outcome) => {
        for (const one of asked) {
          this.#handOn(one, outcome);
          if (outcome.kind === 'dropped') continue;
          const { isin } = one.instrument;
          // The part of a call inherits its failure.
          const before = one.failedAfter.at(-2) ?? calls.answers;
          if (!one.isOwing && before >= calls.answers) {
            violated(`${isin} is blamed after ${one.failedAfter.length} failures and no answer in between`);
          }
          calls.owed.set(isin, ANSWERS_OWED);
        }
      },
    });
    const calls = { queue, open: [], answers: 0, pausedUntilMs: 0, owed: new Map<string, number>() };
    this.#kinds.set(kind, calls);
    return calls;
  }
}

const WELL: CallFate = { failing: [], status: null, isStumble: false };

const busy = (status: number, retryAfterMs?: number) =>
  new ConnectorError('PROVIDER_BUSY', 'busy', { fields: { status }, retryAfterMs });
const SPOILS: Readonly<Record<Spoil, ConnectorError>> = {
  hang: new ConnectorError('PROVIDER_TIMEOUT', 'no answer in time'),
  reset: new ConnectorError('PROVIDER_UNREACHABLE', 'reset before headers'),
  mismatch: new ConnectorError('BULK_MISMATCH', 'it has other items'),
  400: new ConnectorError('PROVIDER_REFUSED', 'refused', { fields: { status: 400 } }),
  403: new ConnectorError('PROVIDER_UNAUTHORIZED', 'forbidden', { fields: { status: 403 } }),
  413: new ConnectorError('PROVIDER_ASKS_FOR_LESS', 'too large', { fields: { status: 413 } }),
  422: new ConnectorError('PROVIDER_REFUSED', 'refused', { fields: { status: 422 } }),
  500: busy(500),
  503: busy(503),
  later: busy(503, RETRY_AFTER_MS),
};
