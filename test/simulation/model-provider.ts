import { isBehind, type ModelEvent, ModelLedger } from './model-ledger.ts';
import { seededRandom } from './random.ts';

/**
 * How a provider of the model is built; all of it is allowed by the interface or assumed to be (part 10 of
 * src/provider/README.md).
 */
export interface ProviderTraits {
  readonly seed: number;
  readonly instruments: number;
  /** Rows per page and events per answer, however many are asked for; no answer says so. */
  readonly limit: number;
  readonly maxEvents: number;
  /** What the newest offset of an answer is: that of the log, or only of what the answer has read. */
  readonly nextIdOf: 'log' | 'answer';
  /** Log positions that one answer looks at, hidden ones included; 0 for all. */
  readonly scanLimit: number;
  /** Whether the cursor moves over hidden positions; where it does not, an answer looks at all of the log. */
  readonly movesOverHidden: boolean;
  /** How long a response of the stream takes; a moment where absent. */
  readonly streamTakesMs?: number;
  /** How far the event log lags behind the list, whose start of the stream is that of the whole log. */
  readonly streamLagMs: number;
  /** How far the list lags behind the event log, from 0 to this, differently each time. */
  readonly listLagMs: number;
  /** What links.events of a walk's page names: the newest offset, the one of the moment that it shows, or nothing. */
  readonly listStart: 'newest' | 'ofPage' | 'absent';
  readonly expired: 'empty' | 'emptyNewest' | 'oldest' | 400 | 404 | 410;
  readonly minIdMode: 'next' | 'overlapping' | 'exclusive';
  /** How often the source walks. */
  readonly walkIntervalMs: number;
}

/** What may go wrong with the next answer of a kind; each is used once. */
export type AnswerFault =
  | 'failed'
  | 'lower'
  | 'stuck'
  | 'refused'
  | 'unreadableId'
  | 'belowCursor'
  | 'descending'
  | 'absentLink'
  | 'loop'
  | 'empty';

/** How the list is cut: at its end only (what lies behind can be asked for), or whole. */
export interface Truncation {
  readonly kind: 'soft' | 'hard';
  readonly keptIds: number;
}

export interface ModelRow {
  readonly id: bigint | null;
  readonly version: number;
  readonly dead: boolean;
}

export interface ModelPage {
  readonly rows: readonly ModelRow[];
  /** Undefined: links.next is absent, which is no answer at all. */
  readonly next: string | null | undefined;
  /** Of links.events. */
  readonly start: string | null;
}

export interface ModelStreamAnswer {
  readonly events: readonly ModelEvent[];
  readonly next: string;
  readonly nextId: string;
}

/** A replica that answers in the provider's place for a while: its log and its list end before those of the provider. */
export interface FailOver {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly lagMs: number;
  /** Whether it stands still, or follows at that distance. */
  readonly isFrozen: boolean;
  /** Of an offset beyond its log: itself, the newest offset beside it, the newest offset to go on from, or a refusal. */
  readonly beyond: 'echo' | 'named' | 'back' | 400 | 404;
  /** Whether the rows of its list are the provider's own, beside a start that ends where its log does. */
  readonly listIsCurrent: boolean;
}

const WALL_MS = 1_700_000_000_000;
const OLD_EVENT_MS = 1_000_000_000_000;

/** The provider: a list that lags a log, both with the faults that the scenario asks for. */
export class ModelProvider {
  readonly ledger = new ModelLedger();
  readonly traits: ProviderTraits;
  readonly #random: () => number;
  #version = 0;
  #log: ModelEvent[] = [];
  truncation: Truncation | null = null;
  readonly faults: { readonly events: AnswerFault[]; readonly list: AnswerFault[] } = { events: [], list: [] };

  constructor(traits: ProviderTraits) {
    this.traits = traits;
    this.ledger.streamLags = traits.streamLagMs > 0;
    this.#random = seededRandom(traits.seed);
    this.ledger.starts.push({ offset: `${WALL_MS}-0`, atMs: 0 });
    for (let index = 0; index < traits.instruments; index++) {
      this.ledger.change(BigInt(index * 2 + 1), { fromMs: 0, version: ++this.#version, dead: false });
    }
  }

  /** A new version of an instrument, or its first; announced by an event. */
  change(id: bigint, atMs: number, dead = false): void {
    this.ledger.change(id, { fromMs: atMs, version: ++this.#version, dead });
    this.#publish({ id, version: this.#version, dead }, atMs);
  }

  /** An instrument leaves the list, announced by an event of a deleting type or by none. */
  vanish(id: bigint, atMs: number, announced: boolean): void {
    if (!this.ledger.isLive(id, atMs)) return;
    this.ledger.change(id, { fromMs: atMs, version: null, dead: false });
    if (announced) this.#publish({ id, version: ++this.#version, deletes: true }, atMs);
  }

  /** An event that nobody is shown, or one whose instrument cannot be read. */
  publishOther(kind: 'hidden' | 'unreadable', atMs: number): void {
    this.#publish({ hidden: kind === 'hidden', dead: kind === 'unreadable' }, atMs);
  }

  /** The log is lost, and begins again at lower offsets. */
  reset(atMs: number): void {
    this.#log = [];
    this.ledger.starts.push({ offset: `${OLD_EVENT_MS + this.ledger.starts.length + atMs}-0`, atMs });
  }

  /** From now on a replica answers. */
  failOver(failOver: FailOver): void {
    this.ledger.failOvers.push(failOver);
  }

  /** The current one answers again. */
  failBack(atMs: number): void {
    for (const [at, { untilMs, ...rest }] of this.ledger.failOvers.entries()) {
      this.ledger.failOvers[at] = { ...rest, untilMs: Math.min(untilMs, atMs) };
    }
  }

  newest(atMs: number): string {
    const asOfMs = this.ledger.asOfMs(atMs);
    return this.#log.findLast(({ publishedMs }) => publishedMs <= asOfMs)?.offset ?? this.#start();
  }

  /** Where the list says that the stream starts now. */
  start(atMs: number): string {
    return this.#startAt(this.ledger.asOfMs(atMs) - this.traits.listLagMs, atMs);
  }

  #listedMs(atMs: number): number {
    return this.ledger.asOfMs(atMs) - Math.floor(this.#random() * (this.traits.listLagMs + 1));
  }

  /** Whether nothing that a source must have lies behind an offset. */
  isAtEnd(since: string): boolean {
    const incarnation = this.ledger.incarnationOf(since);
    return (
      incarnation === this.ledger.starts.length - 1 &&
      !this.#log.some((event) => !event.hidden && isBehind(event.offset, since))
    );
  }

  /** Whether no event that is served now lies behind an offset. */
  isRead(since: string, atMs: number): boolean {
    return !this.#log.some(
      (event) =>
        !event.hidden &&
        isBehind(event.offset, since) &&
        !this.ledger.isDropped(event, atMs) &&
        this.#isShown(event, atMs),
    );
  }

  #isShown({ publishedMs }: ModelEvent, atMs: number): boolean {
    return publishedMs + this.traits.streamLagMs <= this.ledger.asOfMs(atMs);
  }

  isExpired(since: string, atMs: number): boolean {
    return this.#log.some((event) => this.ledger.isDropped(event, atMs) && isBehind(event.offset, since));
  }

  events(since: string, atMs: number, isVerification: boolean): ModelStreamAnswer | { readonly status: number } | null {
    const fault = isVerification ? undefined : this.faults.events.shift();
    const shown = this.#log.findLast((event) => this.#isShown(event, atMs));
    const newest = shown?.offset ?? this.ledger.starts.at(-1)?.offset ?? '';
    // Of its answer it names the newest; an offset that lies behind all of the log shows the log's own all the same.
    const isOfLog = this.traits.nextIdOf === 'log' || isBehind(since, newest);
    const quiet = { events: [], next: since, nextId: isOfLog ? newest : since };
    if (fault === 'failed') return null;
    if (fault === 'refused') return { status: 404 };
    if (fault === 'lower') return { ...quiet, next: '5-0' };
    const replica = this.ledger.failOverAt(atMs);
    if (replica !== undefined && isBehind(since, newest)) {
      if (typeof replica.beyond === 'number') return { status: replica.beyond };
      if (replica.beyond === 'echo') return { ...quiet, nextId: since };
      return { events: [], next: replica.beyond === 'back' ? newest : since, nextId: newest };
    }
    const { expired, maxEvents, movesOverHidden } = this.traits;
    const scanLimit = movesOverHidden ? this.traits.scanLimit : 0;
    if (this.isExpired(since, atMs) && expired !== 'oldest') {
      if (typeof expired === 'number') return { status: expired };
      return { ...quiet, nextId: expired === 'empty' ? since : newest };
    }
    const events: ModelEvent[] = [];
    let [next, scanned] = [since, 0];
    for (const event of this.#log) {
      if (!isBehind(event.offset, since) || this.ledger.isDropped(event, atMs)) continue;
      if (!this.#isShown(event, atMs)) break;
      if (events.length === maxEvents || (scanLimit > 0 && scanned === scanLimit)) break;
      if (movesOverHidden || !event.hidden) next = event.offset;
      scanned += 1;
      if (!event.hidden) events.push(event);
    }
    if (fault === 'stuck' && events.length > 0) next = since;
    return { events, next, nextId: isOfLog ? newest : next };
  }

  list(minId: string | null, atMs: number, isVerifying: boolean): ModelPage | null {
    const fault = isVerifying ? undefined : this.faults.list.shift();
    if (fault === 'failed') return null;
    if (fault === 'empty') return { rows: [], next: null, start: null };
    const { limit, minIdMode } = this.traits;
    const asOfMs = this.#listedMs(atMs);
    const shown = this.#listed(this.ledger.failOverAt(atMs)?.listIsCurrent ? atMs : asOfMs);
    const from = minId === null ? null : BigInt(minId) + (minIdMode === 'exclusive' ? 1n : 0n);
    const cut =
      this.truncation?.kind === 'soft' && (from === null || from <= (shown[this.truncation.keptIds - 1]?.id ?? 0n));
    const visible = cut ? shown.slice(0, this.truncation?.keptIds) : shown;
    const behind = visible.filter(({ id }) => from === null || id >= from);
    const rows: ModelRow[] = behind.slice(0, limit);
    const last = behind[limit - 1]?.id ?? 0n;
    const overlaps = minIdMode === 'exclusive' || (minIdMode === 'overlapping' && limit > 1);
    const next = behind.length > limit ? String(overlaps ? last : last + 1n) : null;
    if (fault === 'descending') rows.reverse();
    if (fault === 'unreadableId' && rows.length > 0) rows.splice(0, 1, { id: null, version: 0, dead: true });
    const earlier = from === null ? undefined : visible.find(({ id }) => id < from);
    if (fault === 'belowCursor' && earlier) rows.push(earlier);
    const start = this.traits.listStart === 'absent' ? null : this.#startAt(asOfMs, atMs);
    const cursor = fault === 'loop' && minId !== null ? minId : next;
    return { rows, next: fault === 'absentLink' ? undefined : cursor, start };
  }

  #startAt(asOfMs: number, atMs: number): string {
    if (this.traits.listStart !== 'ofPage') return this.newest(atMs);
    return this.#log.findLast(({ publishedMs }) => publishedMs <= asOfMs)?.offset ?? this.#start();
  }

  #start(): string {
    return this.ledger.starts.at(-1)?.offset ?? '';
  }

  #listed(asOfMs: number) {
    const rows = [];
    for (const id of this.ledger.ids()) {
      const state = this.ledger.stateAt(id, Math.max(0, asOfMs));
      if (state !== null && state.version !== null) rows.push({ id, version: state.version, dead: state.dead });
    }
    return this.truncation?.kind === 'hard' ? rows.slice(0, this.truncation.keptIds) : rows;
  }

  #publish(entry: Partial<ModelEvent>, atMs: number): void {
    const incarnation = this.ledger.starts.length - 1;
    const order = this.ledger.events.length + 1;
    const ms = incarnation === 0 ? WALL_MS + atMs : OLD_EVENT_MS + incarnation + atMs;
    const nothing = { id: null, version: 0, dead: false, deletes: false, hidden: false };
    const event = { ...nothing, ...entry, order, offset: `${ms}-${order}`, publishedMs: atMs, incarnation };
    this.ledger.events.push(event);
    this.#log.push(event);
  }
}
