import type { ConnectorError } from '../../errors.ts';
import type { Events } from '../../observe/events.ts';
import { type BackOff, backOffMs, type Random, SLOW_BACK_OFF } from '../../support/back-off.ts';
import type { PriceKind, PriceQuestion, QuestionOutcome } from '../bulk-prices.ts';

/*
 * The bulk calls for one kind of prices. A question is an instrument to price. The queue decides the questions of the
 * next call, and the meaning of an answer or failure. It uses no I/O and no clock.
 *
 * One rule finds poison pills (questions that make their calls fail), for every error. A call that failed twice is
 * divided if a call that began after the first failure was answered. (An answer to an earlier call does not show that the
 * provider answers now.) A call for a single question is not divided: its failure becomes the question's result. While no
 * call is answered, no failed call is repeated or divided. Only a probe (a call for one question) is sent from time to time.
 *
 * The states of a group of questions:
 *
 * - fresh: not called yet. If its call fails, the group becomes waiting.
 * - waiting: its last call failed. The group waits until a call that began after the group's first failure is answered.
 *   Then a group that failed once becomes suspected. A group that failed twice is divided.
 * - suspected: called again. If this call fails too, the group has failed twice. If a call that began after the first
 *   failure was already answered, the group is divided. Otherwise the group becomes waiting again.
 *
 * The parts of a divided call are suspected. The failure of the divided call counts as their first failure. If all parts of
 * two divided calls in a row are answered, the calls were too large. Then calls are half as large. From time to time, one
 * call is twice as large. If it is answered, this is the new limit, because the failures may have had another reason.
 */

/** The number of parts of a divided call. 18 calls find one poison pill among 500 questions. */
const PARTS = 4;
/** The most calls at a time for suspected questions, in addition to the calls for fresh questions. */
const SUSPECTED_AT_ONCE = 4;
const PROBE_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };
/** A poison pill is requested alone until this many calls for it are answered. */
const ANSWERS_NEEDED = 3;
/** The most poison pills that are remembered. If there are more, the provider is the likely cause. */
const MOST_KNOWN = 100;
/** A call is not too large if a call of its size was answered within this time. */
const LARGEST_COUNTS_MS = 60_000;
/** A larger call is tried after the first of these times. The time doubles until a larger call is answered. */
const TRIAL_AFTER_MS = { first: 60_000, longest: 3_600_000 };

export interface QueuedQuestion {
  readonly question: PriceQuestion;
  /** False after the question's instrument was deleted or got another isin. The next call drops such a question. */
  isWanted(): boolean;
}

/** Questions that are sent in the same call. */
interface Group<One> {
  readonly asked: readonly One[];
  /** Consecutive failed calls for these questions, including the divided call of which they were a part. */
  readonly failures: number;
  /** The number of calls that were sent before the first of these failures. Only answers to calls after these calls count. */
  readonly callsBefore: number;
  readonly sinceMs: number;
  readonly partOf: Division | null;
}

interface Division {
  readonly items: number;
  /** When the divided call was sent. */
  readonly sentMs: number;
  unanswered: number;
}

const NEVER_FAILED = { failures: 0, callsBefore: 0, partOf: null } as const;

interface Failed<One> {
  /** The questions of the failed call, without the question of a running probe. */
  group: Group<One>;
  /** The number of questions that probes have tried. These questions are at the end of the group. */
  probed: number;
  readonly sentMs: number;
  readonly error: ConnectorError;
}

export interface Call<One> {
  readonly group: Group<One>;
  readonly role: 'fresh' | 'suspected' | 'probe';
  readonly number: number;
  readonly timeoutMs: number;
  readonly sentMs: number;
  /** The failed call whose question this probe sends. Undefined if the probe sends a witness, and for other roles. */
  readonly from: Failed<One> | undefined;
}

type EndedOutcome = Extract<QuestionOutcome, { readonly kind: 'refused' | 'dropped' }>;

export interface CallQueueOptions<One> {
  readonly maxItems: number;
  readonly concurrency: number;
  /** How long a small group of questions waits for other groups, to share a call. */
  readonly togetherMs: number;
  /** Returns witnesses: products that probes send in place of waiting questions. If all are refused, the queue gives up. */
  readonly witnesses?: (() => readonly One[]) | undefined;
  readonly random: Random;
  readonly kind: PriceKind;
  readonly events: Pick<Events, 'batchBisected' | 'batchLimitLearnt' | 'bulkAttemptFailed'>;
  readonly ended: (asked: readonly One[], outcome: EndedOutcome) => void;
  readonly gaveUp: (error: ConnectorError) => void;
}

export class CallQueue<One extends QueuedQuestion> {
  readonly #options: CallQueueOptions<One>;
  #fresh: Group<One>[] = [];
  #suspected: Group<One>[] = [];
  #waiting: Failed<One>[] = [];
  readonly #inFlight = { fresh: 0, suspected: 0, probe: 0 };
  #calls = 0;
  /** The number of the latest call that was answered. */
  #answered = 0;
  readonly #probes = { failures: 0, nextMs: 0 };
  /** The witnesses that the next probes send. Null after an answer, until the next probe chooses new witnesses. */
  #witnesses: One[] | null = null;
  #pausedUntilMs = 0;
  /** The number of answered calls that each poison pill still needs, by isin. */
  readonly #answersNeeded = new Map<string, number>();
  /** Parts of divided calls, and single questions after a failure, have a separate timeout: they are answered faster. */
  readonly #timeouts = { usual: new CallTimeout(), suspected: new CallTimeout() };
  /** The largest call that was answered lately. */
  #largest = { items: 0, atMs: 0 };
  /** The learnt size limit; null: no limit is known. A call of twice this size is due at `trialMs`. */
  #limit: { readonly items: number; readonly pauseMs: number; readonly trialMs: number } | null = null;
  /** If all parts of a divided call were answered: the smallest size of such calls, and when the first of them ended. Else null. */
  #tooLarge: { readonly items: number; readonly atMs: number } | null = null;

  constructor(options: CallQueueOptions<One>) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    const { fresh, suspected, probe } = this.#inFlight;
    const groups = this.#fresh.length + this.#suspected.length + this.#waiting.length;
    return groups + fresh + suspected + probe === 0;
  }

  maxItems(nowMs: number): number {
    const { maxItems } = this.#options;
    if (this.#limit === null) return maxItems;
    const { items, trialMs } = this.#limit;
    return Math.min(maxItems, nowMs < trialMs ? items : 2 * items);
  }

  put(asked: readonly One[], nowMs: number): void {
    const fresh = { ...NEVER_FAILED, sinceMs: nowMs };
    const isKnown = ({ question }: One) => this.#answersNeeded.has(question.isin);
    const others = asked.filter((one) => !isKnown(one));
    if (others.length > 0) this.#fresh.push({ ...fresh, asked: others });
    if (others.length === asked.length) return;
    // A known poison pill gets its result after one failure, because other calls were answered when it failed before.
    for (const one of asked.filter(isKnown)) {
      this.#suspected.push({ ...fresh, asked: [one], failures: 1, callsBefore: -1 });
    }
  }

  sweep(): void {
    const swept = (groups: readonly Group<One>[]) => groups.flatMap((group) => this.#wanted(group) ?? []);
    this.#fresh = swept(this.#fresh);
    this.#suspected = swept(this.#suspected);
    for (const failed of this.#waiting) failed.group = this.#wanted(failed.group) ?? { ...failed.group, asked: [] };
    this.#forgetEmpty();
  }

  next(nowMs: number): Call<One> | null {
    if (nowMs < this.#pausedUntilMs) return null;
    return this.#nextFresh(nowMs) ?? this.#nextSuspected(nowMs) ?? this.#nextProbe(nowMs);
  }

  nextMs(nowMs: number): number {
    const isFreshFree = this.#inFlight.fresh < this.#options.concurrency;
    const moments = isFreshFree ? this.#fresh.map((group) => this.#readyMs(group, nowMs)) : [];
    if (this.#suspected.length > 0 && this.#inFlight.suspected < SUSPECTED_AT_ONCE) moments.push(nowMs);
    if (this.#waiting.length > 0 && this.#inFlight.probe === 0) moments.push(this.#probes.nextMs);
    return Math.max(this.#pausedUntilMs, Math.min(...moments));
  }

  answered({ group, role, number, sentMs }: Call<One>, nowMs: number): void {
    const { asked } = group;
    const { usual, suspected } = this.#timeouts;
    this.#inFlight[role] -= 1;
    this.#answered = Math.max(this.#answered, number);
    this.#probes.failures = 0;
    this.#witnesses = null;
    const tookMs = nowMs - sentMs;
    if (role === 'fresh' || tookMs > usual.ms) usual.took(tookMs);
    if (role !== 'fresh') suspected.took(tookMs);
    if (asked.length >= (this.#tooLarge?.items ?? 0)) this.#tooLarge = null;
    if (asked.length >= this.#largestAnswered(nowMs)) this.#largest = { items: asked.length, atMs: nowMs };
    const isLarger = asked.length > (this.#limit?.items ?? Number.POSITIVE_INFINITY);
    if (isLarger) this.#limit = { items: asked.length, pauseMs: TRIAL_AFTER_MS.first, trialMs: nowMs };
    if (role === 'suspected') this.#suspectedAnswered(group, nowMs);
    for (const failed of this.#waiting.splice(0)) {
      if (failed.group.asked.length === 0) continue;
      if (failed.group.callsBefore >= number) this.#waiting.push(failed);
      else if (failed.group.failures > 1) this.#divide(failed, nowMs);
      else this.#suspected.push({ ...failed.group, sinceMs: nowMs });
    }
  }

  failed({ group, role, sentMs, from }: Call<One>, error: ConnectorError, nowMs: number): void {
    this.#inFlight[role] -= 1;
    if (from !== undefined) this.#putBack(group, from);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + (error.retryAfterMs ?? 0));
    const { asked } = group;
    const failures = group.failures + 1;
    const callsBefore = failures === 1 ? this.#calls : group.callsBefore;
    const failed = { group: { ...group, failures, callsBefore, partOf: null }, probed: 0, sentMs, error };
    const report = (inARow: number, waitMs: number) => {
      const { kind, events } = this.#options;
      events.bulkAttemptFailed({ kind, items: asked.length, failures: inARow, waitMs, err: error });
    };
    if ('heldBackBy' in error.fields) {
      // The HTTP client held the call back and did not send it.
      if (role === 'fresh') this.#fresh.unshift(group);
      if (role === 'suspected') this.#suspected.unshift(group);
      if (role === 'probe' && from === undefined) this.#witnesses?.unshift(...asked);
      // After a restart of the prices, no failed call says why nothing is requested.
      if (this.#waiting.length === 0) report(1, this.#pausedUntilMs - nowMs);
      return;
    }
    if (role === 'probe') {
      this.#probeFailed(asked, error, nowMs);
    } else if (failures > 1 && this.#answered > callsBefore) {
      this.#divide(failed, nowMs);
      return;
    } else {
      if (this.#waiting.length === 0) this.#probes.nextMs = nowMs + this.#probeBackOffMs(1, error);
      this.#waiting.push(failed);
    }
    const waitMs = Math.max(this.#probes.nextMs, this.#pausedUntilMs) - nowMs;
    const inARow = role === 'probe' ? this.#probes.failures : failures;
    report(inARow, waitMs);
  }

  /** Ends a call that counts neither as answered nor as failed, because its batches have ended. */
  abandoned({ role }: Call<One>): void {
    this.#inFlight[role] -= 1;
    if (role === 'probe') this.#forgetEmpty();
  }

  #nextFresh(nowMs: number): Call<One> | null {
    while (this.#inFlight.fresh < this.#options.concurrency) {
      const at = this.#fresh.findIndex((group) => this.#readyMs(group, nowMs) <= nowMs);
      const [first] = at < 0 ? [] : this.#fresh.splice(at, 1);
      if (first === undefined) return null;
      const call = this.#begin(this.#filled(first, nowMs), 'fresh', nowMs);
      if (call !== null) return call;
    }
    return null;
  }

  #filled(first: Group<One>, nowMs: number): Group<One> {
    const most = this.maxItems(nowMs);
    if (first.asked.length > most) {
      this.#fresh.unshift({ ...first, asked: first.asked.slice(most) });
      return { ...first, asked: first.asked.slice(0, most) };
    }
    if (this.#fresh.length === 0) return first;
    const asked = [...first.asked];
    const isins = new Set(asked.map(({ question }) => question.isin));
    this.#fresh = this.#fresh.filter((group) => {
      const isFull = asked.length + group.asked.length > most;
      if (isFull || group.asked.some(({ question }) => isins.has(question.isin))) return true;
      asked.push(...group.asked);
      for (const { question } of group.asked) isins.add(question.isin);
      return false;
    });
    return { ...first, asked };
  }

  /** Takes the largest group first, because most questions wait in this group. */
  #nextSuspected(nowMs: number): Call<One> | null {
    while (this.#suspected.length > 0 && this.#inFlight.suspected < SUSPECTED_AT_ONCE) {
      const largest = this.#suspected.reduce((one, other) => (other.asked.length > one.asked.length ? other : one));
      this.#suspected = this.#suspected.filter((group) => group !== largest);
      const call = this.#begin(largest, 'suspected', nowMs);
      if (call !== null) return call;
    }
    return null;
  }

  /** Probes a witness or a random waiting question. A fixed choice could be a poison pill each time. */
  #nextProbe(nowMs: number): Call<One> | null {
    const { witnesses, random } = this.#options;
    while (this.#waiting.length > 0 && this.#inFlight.probe === 0 && nowMs >= this.#probes.nextMs) {
      if (witnesses) this.#witnesses ??= [...witnesses()];
      const from = this.#witnesses?.length ? undefined : this.#anyNotProbed();
      const one =
        from === undefined
          ? this.#witnesses?.shift()
          : anyOf(from.group.asked.slice(0, -from.probed || undefined), random);
      if (one === undefined) return null;
      if (from !== undefined) from.group = { ...from.group, asked: from.group.asked.filter((other) => other !== one) };
      const call = this.#begin({ ...NEVER_FAILED, asked: [one], sinceMs: nowMs }, 'probe', nowMs, from);
      if (call !== null) return call;
      this.#forgetEmpty();
    }
    return null;
  }

  #begin(group: Group<One>, role: Call<One>['role'], nowMs: number, from?: Failed<One>): Call<One> | null {
    const wanted = this.#wanted(group);
    if (wanted === null) return null;
    this.#inFlight[role] += 1;
    this.#calls += 1;
    if (role === 'fresh') this.#noteTrial(wanted.asked.length, nowMs);
    const isPart = group.partOf !== null || (group.failures > 0 && group.asked.length === 1);
    const timeout = isPart ? this.#timeouts.suspected : this.#timeouts.usual;
    const timeoutMs = role === 'probe' ? this.#timeouts.usual.ms * 2 ** this.#probes.failures : timeout.ms;
    return { group: wanted, role, number: this.#calls, timeoutMs, sentMs: nowMs, from };
  }

  #suspectedAnswered({ asked, partOf }: Group<One>, nowMs: number): void {
    const isin = asked[0]?.question.isin ?? '';
    const needed = asked.length === 1 ? (this.#answersNeeded.get(isin) ?? 0) : 0;
    if (needed > 1) this.#answersNeeded.set(isin, needed - 1);
    else if (needed > 0) this.#answersNeeded.delete(isin);
    if (partOf === null) return;
    partOf.unanswered -= 1;
    if (partOf.unanswered === 0) this.#allPartsAnswered(partOf, nowMs);
  }

  /** All parts of a call were answered: the call was too large or too slow, or its two failures were temporary. */
  #allPartsAnswered({ items, sentMs }: Division, nowMs: number): void {
    const { usual } = this.#timeouts;
    usual.took(usual.ms);
    if (items <= this.#largestAnswered(nowMs)) return;
    const before = this.#tooLarge;
    // Calls have several sizes, so the smallest size counts.
    const smallest = Math.min(items, before?.items ?? items);
    this.#tooLarge = { items: smallest, atMs: before?.atMs ?? nowMs };
    const maxItems = Math.ceil(smallest / 2);
    const { items: known = this.#options.maxItems, pauseMs = TRIAL_AFTER_MS.first } = this.#limit ?? {};
    if (before === null || sentMs <= before.atMs || maxItems >= known) return;
    this.#limit = { items: maxItems, pauseMs, trialMs: nowMs + pauseMs };
    this.#tooLarge = null;
    const { kind, events } = this.#options;
    events.batchLimitLearnt({ kind, maxItems });
  }

  #largestAnswered(nowMs: number): number {
    return nowMs - this.#largest.atMs < LARGEST_COUNTS_MS ? this.#largest.items : 0;
  }

  /** A call of more questions than the limit is a trial. The next trial follows after a pause. */
  #noteTrial(items: number, nowMs: number): void {
    if (this.#limit === null || items <= this.#limit.items) return;
    const pauseMs = Math.min(2 * this.#limit.pauseMs, TRIAL_AFTER_MS.longest);
    this.#limit = { items: this.#limit.items, pauseMs, trialMs: nowMs + pauseMs };
  }

  #divide({ group: { asked }, sentMs, error }: Failed<One>, nowMs: number): void {
    const { kind, events, ended } = this.#options;
    const [first] = asked;
    if (asked.length === 1 && first !== undefined) {
      this.#remember(first.question.isin);
      ended(asked, { kind: 'refused', status: statusOf(error), code: error.code });
      return;
    }
    events.batchBisected({ kind, items: asked.length, code: error.code, status: statusOf(error) });
    const largestPart = Math.ceil(asked.length / PARTS);
    const unanswered = Math.ceil(asked.length / largestPart);
    const partOf = { items: asked.length, sentMs, unanswered };
    const part = { failures: 1, callsBefore: this.#calls, sinceMs: nowMs, partOf };
    for (let from = 0; from < asked.length; from += largestPart) {
      this.#suspected.push({ ...part, asked: asked.slice(from, from + largestPart) });
    }
  }

  #remember(isin: string): void {
    this.#answersNeeded.delete(isin);
    this.#answersNeeded.set(isin, ANSWERS_NEEDED);
    const [oldest] = this.#answersNeeded.keys();
    if (this.#answersNeeded.size > MOST_KNOWN && oldest !== undefined) this.#answersNeeded.delete(oldest);
  }

  #probeFailed(asked: readonly One[], error: ConnectorError, nowMs: number): void {
    this.#probes.failures += 1;
    const witnesses = this.#witnesses;
    if (witnesses !== null && error.code === 'PROVIDER_REFUSED') {
      // The next witness is probed at once. An answer for one witness shows that the provider accepts such requests.
      if (witnesses.length === 0) this.#options.gaveUp(error);
      return;
    }
    witnesses?.push(...asked);
    this.#probes.nextMs = nowMs + this.#probeBackOffMs(this.#probes.failures + 1, error);
    // The login is refused. More calls would only request more tokens, until the provider locks the account.
    if (statusOf(error) === 401) this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#probes.nextMs);
  }

  #probeBackOffMs(failures: number, error: ConnectorError): number {
    const backOff = statusOf(error) === 401 ? SLOW_BACK_OFF : PROBE_BACK_OFF;
    return backOffMs(failures, backOff, this.#options.random);
  }

  /** Returns the question of a failed probe to its group. If the group no longer waits, the question is sent alone. */
  #putBack({ asked, sinceMs }: Group<One>, from: Failed<One>): void {
    if (!this.#waiting.includes(from)) this.#suspected.push({ ...from.group, asked, sinceMs });
    else from.group = { ...from.group, asked: [...from.group.asked, ...asked] };
    from.probed += 1;
  }

  /** Every question is probed once before any question is probed again, because some may be poison pills. */
  #anyNotProbed(): Failed<One> | undefined {
    const isLeft = ({ group, probed }: Failed<One>) => group.asked.length > probed;
    if (!this.#waiting.some(isLeft)) for (const failed of this.#waiting) failed.probed = 0;
    return anyOf(this.#waiting.filter(isLeft), this.#options.random);
  }

  #forgetEmpty(): void {
    this.#waiting = this.#waiting.filter(({ group }) => group.asked.length > 0);
  }

  #wanted(group: Group<One>): Group<One> | null {
    const unwanted = group.asked.filter((one) => !one.isWanted());
    if (unwanted.length === 0) return group;
    this.#options.ended(unwanted, { kind: 'dropped' });
    const asked = group.asked.filter((one) => !unwanted.includes(one));
    return asked.length === 0 ? null : { ...group, asked };
  }

  #readyMs({ asked, sinceMs }: Group<One>, nowMs: number): number {
    return 2 * asked.length <= this.maxItems(nowMs) ? sinceMs + this.#options.togetherMs : sinceMs;
  }
}

/** Null if a token endpoint or the registry sent the status, because such a status says nothing about the questions. */
function statusOf({ code, fields }: ConnectorError): number | null {
  return code.startsWith('PROVIDER_') && typeof fields.status === 'number' ? fields.status : null;
}

function anyOf<Item>(items: readonly Item[], random: Random): Item | undefined {
  return items[Math.floor(random() * items.length)];
}

const FIRST_TIMEOUT_MS = 10_000;
const LEAST_TIMEOUT_MS = 3_000;
/** The timeout is this many times the slowest recent call. That call may have been a part, and a whole call may take longer. */
const TIMES_SLOWEST = PARTS;
const REMEMBERED_CALLS = 50;

/**
 * The timeout of calls. If the timeout is long, a question that is never answered delays the other questions of its
 * call. If the timeout is short, slow calls are divided.
 */
class CallTimeout {
  readonly #tookMs: number[] = [];

  /** Whole milliseconds, because timers accept no fractions. */
  get ms(): number {
    if (this.#tookMs.length === 0) return FIRST_TIMEOUT_MS;
    return Math.max(LEAST_TIMEOUT_MS, Math.ceil(TIMES_SLOWEST * Math.max(...this.#tookMs)));
  }

  took(ms: number): void {
    this.#tookMs.push(ms);
    if (this.#tookMs.length > REMEMBERED_CALLS) this.#tookMs.shift();
  }
}
