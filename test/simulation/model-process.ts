import { readUpTo } from '../../src/sources/stream/committed-stream.ts';
import type { Census } from '../../src/sources/walk/census.ts';
import type { InstrumentsCore } from '../../src/sources/walk/instruments-core.ts';
import type {
  CoreAnswer,
  CoreDecision,
  CoreRequest,
  PageRequest,
} from '../../src/sources/walk/instruments-messages.ts';
import { type LapMistake, MODEL_SETTINGS } from './model-core.ts';
import { isBehind, type ModelEvent } from './model-ledger.ts';
import type { ModelRecord } from './model-log.ts';
import type { ModelPage, ModelRow } from './model-provider.ts';
import type { ModelSurroundings } from './model-surroundings.ts';

/** A response of the stream that is kept for the drain of a page. */
interface DrainAhead {
  readonly of: PageRequest;
  /** The page as it had arrived; null for one that comes later, which is a mistake. */
  readonly page: ModelPage | null;
  readonly since: string;
  readonly askedMs: number;
  readonly answer: CoreAnswer | null;
  readonly events: readonly ModelEvent[];
}

interface Provider {
  readonly mistake: LapMistake | null;
  page(request: PageRequest): ModelPage | null;
  events(since: string, seen: ModelEvent[]): CoreAnswer | null;
}

/** A response that is kept for longer is asked for again. */
const LONGEST_KEPT_MS = 10_000;

/** What a process has of a walk before it is wanted: pages that have arrived, and what begins their drains. */
class ModelAhead {
  readonly #provider: Provider;
  #pages: readonly { readonly request: PageRequest; readonly page: ModelPage }[] = [];
  #drains: readonly DrainAhead[] = [];
  #taken: { readonly request: PageRequest; readonly page: ModelPage | null } | null = null;

  constructor(provider: Provider) {
    this.#provider = provider;
  }

  take(request: PageRequest): ModelPage | null {
    const [ahead, ...others] = this.#pages;
    const isAhead = ahead !== undefined && isSame(ahead.request, request);
    this.#pages = isAhead ? others : [];
    const page = isAhead ? ahead.page : this.#provider.page(request);
    this.#taken = { request, page };
    return page;
  }

  fetch(request: PageRequest, since: string, nowMs: number): void {
    if (this.#provider.mistake === 'drainAskedBeforePage') {
      this.#askDrain({ of: request, page: null, since, askedMs: nowMs });
      return;
    }
    if (this.#pages[0] !== undefined && isSame(this.#pages[0].request, request)) return;
    this.#pages = [];
    this.#fetch(request);
    // The one behind it comes before the drain of the page that was taken, or after.
    if (Number(request.minId) % 2 === 0) this.#fetchBehind();
  }

  /** The rows of a page are being written: the drain of the next one begins, and the page behind that arrives. */
  use(since: string, nowMs: number): void {
    const [next] = this.#pages;
    if (next === undefined) return;
    const { request: of, page } = next;
    const isMistaken = this.#provider.mistake === 'drainOfEarlierArrival';
    this.#askDrain({ of, page: isMistaken ? null : page, since, askedMs: nowMs });
    this.#fetchBehind();
  }

  #fetchBehind(): void {
    const [next, ...others] = this.#pages;
    const minId = next?.page.next ?? null;
    if (next === undefined || others.length > 0 || minId === null) return;
    this.#fetch({ walk: next.request.walk, minId });
  }

  #fetch(request: PageRequest): void {
    const page = this.#provider.page(request);
    if (page !== null) this.#pages = [...this.#pages, { request, page }];
  }

  /** The response that was asked for since the page arrived that is drained now, if it is one to our offset. */
  drain(since: string, nowMs: number): DrainAhead | null {
    const taken = this.#taken;
    if (taken === null) return null;
    const kept = this.#drains.find(({ of }) => isSame(of, taken.request));
    if (kept === undefined) return null;
    this.#drains = this.#drains.filter((drain) => drain !== kept);
    const isFresh = nowMs - kept.askedMs <= LONGEST_KEPT_MS;
    return isFresh && kept.since === since && (kept.page === null || kept.page === taken.page) ? kept : null;
  }

  #askDrain(asked: Omit<DrainAhead, 'answer' | 'events'>): void {
    const events: ModelEvent[] = [];
    const answer = this.#provider.events(asked.since, events);
    this.#drains = [...this.#drains.filter(({ of }) => !isSame(of, asked.of)), { ...asked, answer, events }];
  }
}

function isSame(one: PageRequest, other: PageRequest): boolean {
  return one.walk === other.walk && one.minId === other.minId;
}

const OF_LIST: readonly CoreRequest['kind'][] = ['start', 'page', 'behindLast'];

/** A list whose responses are used only after some more requests to the stream, as where it takes long. */
class LateList {
  readonly #steps: number;
  #late: {
    readonly answer: CoreAnswer;
    readonly phase: InstrumentsCore['phase'];
    readonly walk: number | undefined;
    stepsLeft: number;
  } | null = null;

  /** `steps`: how many such requests; 0: its response is used at once. */
  constructor(steps: number) {
    this.#steps = steps;
  }

  freeMs(nowMs: number): number {
    return this.#late === null ? nowMs : Number.POSITIVE_INFINITY;
  }

  /** @returns what is left of a wait: it ends as soon as the list has responded. */
  waitMs(ms: number): number {
    if (this.#late === null) return ms;
    this.#late.stepsLeft = 0;
    return 0;
  }

  /** @returns the response if it is used at once. */
  put({ kind }: CoreRequest, answer: CoreAnswer, { phase, offset }: InstrumentsCore): CoreAnswer | null {
    if (this.#steps === 0 || !OF_LIST.includes(kind)) return answer;
    this.#late = { answer, phase, walk: offset?.walk, stepsLeft: this.#steps };
    return null;
  }

  /** The response once it has come; one of a walk that another has replaced is dropped. */
  take(core: InstrumentsCore): CoreAnswer | null {
    const late = this.#late;
    if (late === null || late.stepsLeft-- > 0) return null;
    this.#late = null;
    const isWanted = core.phase === late.phase && core.offset?.walk === late.walk;
    return late.answer.kind === 'start' || isWanted ? late.answer : null;
  }
}

/** What becomes of a commit. */
export type Fate = 'committed' | 'lost' | 'crashAfter' | 'unansweredLost' | 'unansweredCommitted';

/** A decision on its way to the log. */
export interface Pending {
  readonly decision: CoreDecision;
  readonly instruments: readonly ModelRecord[];
  readonly events: readonly ModelEvent[];
  /** When the stream gave the response that it is about; null where none was taken. */
  readonly streamedMs: number | null;
  /** Our offset when it was made: what the headers of its records name. */
  readonly asked: string;
}

const REQUEST_MS = 20;
/** As long may it pause in the middle of events. */
const LONGEST_PAUSE_MS = 1_000;
interface FreshStart {
  readonly since: string;
  readonly atMs: number;
}

/** So long a source has caught up that has reached a fresh start of the list. */
const START_COUNTS_MS = 120_000;

/** One process with its source: asks the provider as the core says, and commits what it decides. */
export class ModelProcess {
  readonly #around: ModelSurroundings;
  #core: InstrumentsCore | null = null;
  #epoch = 0;
  /** Every fresh start of the stream that the list has given in this life. */
  #starts: FreshStart[] = [];
  #ahead: ModelAhead;
  #streamedMs = 0;
  #list = new LateList(0);
  #rows: readonly ModelRow[] = [];
  #lastPageStart: string | null = null;

  constructor(around: ModelSurroundings) {
    this.#around = around;
    this.#ahead = this.#nothingAhead();
  }

  get core(): InstrumentsCore | null {
    return this.#core;
  }

  /** Fences, then reads the offset. `between` is what others do in the middle of it. */
  open(between: () => void = () => {}): void {
    const { log, mistake, modules, nowMs } = this.#around;
    const early = mistake === 'offsetReadBeforeFencing' ? log.committedOffset() : null;
    if (mistake === 'offsetReadBeforeFencing') between();
    this.#epoch = log.fence();
    if (mistake !== 'offsetReadBeforeFencing') between();
    const raw = mistake === 'offsetReadBeforeFencing' ? early : log.committedOffset();
    const { filter } = MODEL_SETTINGS;
    const committed =
      raw === null ? null : modules.readInstrumentsOffset(JSON.parse(JSON.stringify(raw)), 'model', filter);
    const { pollMs: pollIntervalMs, provider } = this.#around;
    const { walkIntervalMs } = provider.traits;
    const settings = { ...MODEL_SETTINGS, pollIntervalMs, walkIntervalMs };
    this.#core = new modules.InstrumentsCore(settings, committed, nowMs, null, log.topicId);
    this.#ahead = this.#nothingAhead();
    this.#starts = [];
    this.#list = new LateList(this.#around.listSteps);
  }

  crash(): void {
    this.#core = null;
  }

  /** Goes as far as the next decision that must be committed, at most one request. */
  ask(): Pending | null {
    const around = this.#around;
    const core = this.#core;
    if (core === null) return null;
    const events: ModelEvent[] = [];
    const answer = this.#list.take(core) ?? this.#request(core, events);
    if (answer === null) return null;
    if (answer.kind === 'start') this.#starts.push({ since: answer.since, atMs: around.nowMs });
    const decision = answer.kind === 'commit' ? answer.decision : core.answered(answer, around.nowMs);
    const { since: asked = '' } = core.offset ?? {};
    if (around.prefetch && decision.ahead !== null) this.#ahead.fetch(decision.ahead, asked, around.nowMs);
    if (around.prefetch && decision.write.kind === 'rows') this.#ahead.use(asked, around.nowMs);
    const written = decision.writes ? events : [];
    const streamedMs = answer?.kind === 'stream' && decision.discarded === null ? this.#streamedMs : null;
    const pending = { decision, events: written, instruments: this.#records(decision, written), streamedMs, asked };
    if (decision.offset !== null) return this.#mistaken(pending);
    decision.committed();
    if (streamedMs !== null) around.truth.streamAnsweredMs = streamedMs;
    if (streamedMs !== null) this.#checkEnd(core, streamedMs);
    return null;
  }

  #request(core: InstrumentsCore, events: ModelEvent[]) {
    const request = core.next(this.#around.nowMs, this.#list.freeMs(this.#around.nowMs));
    if (request.kind === 'commit') return request;
    if (request.kind === 'wait') this.#around.nowMs += this.#list.waitMs(request.ms);
    const answer = request.kind === 'wait' ? null : this.#answer(request, events);
    return answer && this.#list.put(request, answer, core);
  }

  /** The end of the stream is claimed only where it is, or where a fresh start of the list was a moment ago; and until then the stream is read on without waiting for a poll. */
  #checkEnd(core: InstrumentsCore, asOfMs: number): void {
    const { provider, nowMs, found, mistake } = this.#around;
    const { since = '', gapSuspectedFromMs = null } = core.offset ?? {};
    if (mistake !== null || gapSuspectedFromMs !== null || provider.isExpired(since, nowMs)) return;
    if (provider.isRead(since, asOfMs)) return;
    const isPassed = ({ since: start, atMs }: FreshStart) => nowMs - atMs <= START_COUNTS_MS && !isBehind(start, since);
    if (core.isCaughtUp && !this.#starts.some(isPassed))
      found.push(`not read to its end at ${nowMs} ms: it says that it is caught up, and is not`);
    const wanted = core.next(nowMs);
    if (wanted.kind === 'wait' && wanted.ms > LONGEST_PAUSE_MS) {
      found.push(`not read to its end at ${nowMs} ms: events wait for ${wanted.ms} ms`);
    }
  }

  /** @returns whether the process is still open. */
  commit({ decision, instruments, events, streamedMs, asked }: Pending, fate: Fate): boolean {
    const { log, modules, nowMs, mistake, truth } = this.#around;
    if (decision.offset === null) return true;
    const offset = modules.writeInstrumentsOffset(decision.offset);
    const transaction = {
      atMs: nowMs,
      epoch: this.#epoch,
      instruments,
      events,
      asked,
      notifications: decision.notifications,
      offset,
      truth: { ...truth },
    };
    if (fate === 'lost' || fate === 'unansweredLost') log.lose(transaction);
    else if (!log.commit(transaction)) {
      this.crash();
      return false;
    } else if (streamedMs !== null) truth.streamAnsweredMs = streamedMs;
    if (fate === 'committed') {
      decision.committed();
      if (streamedMs !== null && this.#core !== null) this.#checkEnd(this.#core, streamedMs);
      if (mistake === 'streamStartedFromLastPage' && this.#lastPageStart !== null) this.#handOff(decision);
      return true;
    }
    if (mistake === 'writerReusedAfterUnansweredCommit' && fate.startsWith('unanswered')) return true;
    this.crash();
    return false;
  }

  #answer(request: Exclude<ReturnType<InstrumentsCore['next']>, { kind: 'commit' | 'wait' }>, seen: ModelEvent[]) {
    const around = this.#around;
    const { provider } = around;
    around.nowMs += REQUEST_MS;
    switch (request.kind) {
      case 'start':
        return {
          kind: 'start',
          since: provider.start(around.nowMs),
          time: around.date(),
          askedMs: around.nowMs,
        } as const;
      case 'verifyStart': {
        const answer = provider.events(request.since, around.nowMs, true);
        if (answer === null || 'status' in answer) {
          return { kind: 'verifyStart', taken: false, items: 0, next: null } as const;
        }
        return { kind: 'verifyStart', taken: true, items: answer.events.length, next: answer.next } as const;
      }
      case 'stream':
        around.nowMs += provider.traits.streamTakesMs ?? 0;
        return this.#keptAnswer(request.since, seen) ?? this.#eventsAnswer(request.since, seen);
      case 'census':
        return { kind: 'census', census: this.#census() } as const;
      case 'page':
        return this.#pageAnswer(request);
      case 'behindLast': {
        const page = provider.list(request.minId, around.nowMs, true);
        if (provider.truncation !== null && around.truth.truncated !== 'hard')
          around.truth.truncated = provider.truncation.kind;
        if (page === null || page.next === undefined) return null;
        around.truth.verifiedMs = around.nowMs;
        return { kind: 'behindLast', rows: rowFacts(page.rows), next: page.next } as const;
      }
    }
  }

  /** What the topic holds, and what of it events have reported, as its records say. */
  #census(): Census {
    const { modules, log, nowMs } = this.#around;
    const { since, end } = readUpTo(this.#core?.offset ?? null);
    const census = new modules.Census(new modules.ReportedEvents(since, end));
    for (const { instruments, asked, atMs } of log.onTopic()) {
      const ageMs = nowMs - atMs;
      for (const { id, version, from } of instruments) {
        if (from === 'event') census.reported.add(asked, id, ageMs, census.isRemembered(ageMs, asked));
        if (version !== null && from === 'event') census.putEvent(id, BigInt(version), true, ageMs, asked);
        else if (version !== null) census.put(id, BigInt(version), true);
        else if (from === 'event') census.deleteByEvent(id, ageMs, asked);
        else census.delete(id);
      }
    }
    return census;
  }

  #eventsAnswer(since: string, seen: ModelEvent[]): CoreAnswer | null {
    const { provider, nowMs, mistake } = this.#around;
    const time = this.#around.date();
    this.#streamedMs = nowMs;
    if (mistake === 'streamStartedFromLastPage' && this.#core?.offset?.walk === 1 && this.#core.phase !== 'idle') {
      return { kind: 'stream', events: [], next: since, nextId: since, time };
    }
    const answer = provider.events(since, nowMs, false);
    if (answer === null) return null;
    if ('status' in answer) return { kind: 'refused', status: answer.status, time };
    seen.push(...answer.events);
    const events = answer.events.map(({ id, version, dead, deletes }) => {
      return { id, digest: dead ? null : BigInt(version), deletes };
    });
    return { ...answer, kind: 'stream', events, time };
  }

  #nothingAhead(): ModelAhead {
    const events = (since: string, seen: ModelEvent[]) => this.#eventsAnswer(since, seen);
    return new ModelAhead({ ...this.#around, page: (request) => this.#fetch(request), events });
  }

  #keptAnswer(since: string, seen: ModelEvent[]): CoreAnswer | null {
    const kept = this.#core?.phase === 'draining' ? this.#ahead.drain(since, this.#around.nowMs) : null;
    seen.push(...(kept?.events ?? []));
    this.#streamedMs = kept?.askedMs ?? this.#streamedMs;
    return kept?.answer ?? null;
  }

  #pageAnswer(request: PageRequest): CoreAnswer | null {
    const page = this.#ahead.take(request);
    const next = page?.next === undefined && this.#around.mistake === 'absentNextTakenAsEnd' ? null : page?.next;
    if (page === null || next === undefined) return null;
    this.#rows = page.rows;
    if (next === null) this.#around.truth.verifiedMs = this.#around.nowMs;
    if (next === null) this.#lastPageStart = this.#around.provider.newest(this.#around.nowMs);
    const { walk, minId } = request;
    return { kind: 'page', walk, minId, rows: rowFacts(page.rows), next, start: page.start };
  }

  #fetch({ minId }: PageRequest): ModelPage | null {
    const { truth, provider } = this.#around;
    if (minId === null) truth.truncated = null;
    if (provider.truncation !== null && truth.truncated !== 'hard') truth.truncated = provider.truncation.kind;
    return this.#around.provider.list(minId, this.#around.nowMs, false);
  }

  #records({ write, isAgain }: CoreDecision, events: readonly ModelEvent[]): ModelRecord[] {
    if (write.kind === 'tombstones') return write.ids.map((id) => ({ id, version: null, from: 'sweep' }));
    const records: ModelRecord[] = [];
    for (const { id, version, dead, deletes } of isAgain ? [] : events) {
      if (id !== null && !dead) records.push({ id, version: deletes ? null : version, from: 'event' });
    }
    if (write.kind !== 'rows') return records;
    for (const position of write.rows) {
      const row = this.#rows[position];
      if (row && row.id !== null && !row.dead) records.push({ id: row.id, version: row.version, from: 'page' });
    }
    return records;
  }

  /** The wrong hand-off of many scripts: the walk first, then the stream from where the last page says. */
  #mistaken(pending: Pending): Pending {
    const { decision } = pending;
    const isEnd = decision.notifications.some(({ kind }) => kind === 'walkCompleted') && decision.offset?.walk === 1;
    if (this.#around.mistake !== 'streamStartedFromLastPage' || !isEnd || decision.offset === null) return pending;
    const offset = { ...decision.offset, since: this.#lastPageStart ?? decision.offset.since };
    return { ...pending, decision: { ...decision, offset } };
  }

  #handOff(decision: CoreDecision): void {
    const isEnd = decision.notifications.some(({ kind }) => kind === 'walkCompleted') && decision.offset?.walk === 1;
    if (isEnd) this.open();
  }
}

function rowFacts(rows: readonly ModelRow[]) {
  return rows.map(({ id, version, dead }) => ({ id, digest: dead ? null : BigInt(version) }));
}
