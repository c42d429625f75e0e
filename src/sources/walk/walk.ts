import { hasReached, type StreamReading, type StreamResponse } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type {
  CoreWrite,
  InstrumentsSettings,
  PageRequest,
  RowFacts,
  WalkFlaw,
  WalkNotification,
  WalkReason,
} from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';
import type { ListLag } from './list-lag.ts';
import type { SweepPlan } from './sweep.ts';

/** A restart forgets it; the walk then deletes nothing. */
export interface WalkMemory {
  readonly flaws: ReadonlySet<WalkFlaw>;
  /** The highest id of any row. */
  readonly lastId: bigint | null;
  readonly lag: ListLag;
}

export interface FetchedPage {
  readonly minId: string | null;
  readonly rows: readonly RowFacts[];
  readonly next: string | null;
  /** The stream's offset in its `links.events`; null where it has none of the documented form. */
  readonly start: string | null;
}

/** The list was requested once more at its end. */
export interface Verified {
  /** How often it was asked. */
  readonly asked: number;
  /** Ids behind its last row: of instruments that were issued meanwhile, if the stream has named them too. */
  readonly behind: ReadonlySet<bigint>;
}

/** Where the walk is, beside the stream that always runs. */
export type Walk =
  | { readonly phase: 'idle' }
  /**
   * Begun: what events name counts as touched from here on. The census is awaited. `streamStart`: where the stream of a
   * new source begins; null for any other. `notBeforeMs`: after a walk was given up, the next one waits until then.
   */
  | { readonly phase: 'census'; readonly streamStart: string | null; readonly notBeforeMs: number }
  /** The list may still lack what the stream showed before the walk began. */
  | { readonly phase: 'margin'; readonly drain: Drain; readonly streamStart: string | null }
  | ({ readonly phase: 'paging' } & WalkMemory)
  /** A page is here; the stream is read up to where it stood at the page's last byte. */
  | ({ readonly phase: 'draining'; readonly page: FetchedPage; readonly drain: Drain } & WalkMemory)
  /** The list is over, or says so: it is asked once more from these places. */
  | ({ readonly phase: 'verifying'; readonly places: readonly (string | null)[] } & Verified & WalkMemory)
  /** The final drain. */
  | ({ readonly phase: 'closing'; readonly drain: Drain } & Verified & WalkMemory)
  /** Tombstones; `plan` null: a restart came between, and what is gone is no longer known. */
  | { readonly phase: 'sweeping'; readonly plan: SweepPlan | null };

export type WalkPhase = Walk['phase'];

export type WalkInput =
  /** A new one begins and replaces any walk under way. */
  | { readonly kind: 'begin' }
  /** The stream gave an answer that was taken. */
  | ({ readonly kind: 'streamed' } & DrainResponse)
  | { readonly kind: 'census'; readonly census: Census }
  | ({ readonly kind: 'page' } & FetchedPage)
  /** The drained page is used. */
  | { readonly kind: 'usePage' }
  | { readonly kind: 'behindLast'; readonly rows: readonly RowFacts[]; readonly next: string | null }
  /** Tombstones, or the walk's end. */
  | { readonly kind: 'sweep' };

/** All that a step of the walk may look at. It changes none of it. */
export interface WalkContext {
  readonly offset: InstrumentsOffset;
  readonly touched: ReadonlySet<bigint>;
  readonly census: Census | null;
  readonly settings: InstrumentsSettings;
  readonly nowMs: number;
}

/** Where a step leads, and what it writes. */
export interface WalkStep {
  readonly walk: Walk;
  /** The offset afterwards; absent when the step changes nothing of it. */
  readonly offset?: InstrumentsOffset;
  readonly commits?: boolean;
  readonly write?: CoreWrite;
  readonly notifications?: readonly WalkNotification[];
  readonly ahead?: PageRequest | null;
  /** A fresh walk begins with this step's commit: nothing is touched yet. */
  readonly begins?: WalkReason;
  /** Replaces the census. */
  readonly census?: Census;
  readonly record?: (census: Census) => void;
}

/** The walk at the start of a task: what the committed offset leaves to do. */
export function walkAtStart(offset: InstrumentsOffset): { readonly walk: Walk; readonly resumed: boolean } {
  if (!offset.walkPending) return { walk: { phase: 'idle' }, resumed: false };
  if (offset.walkListed) return { walk: { phase: 'sweeping', plan: null }, resumed: true };
  // Before its first page is committed a walk has seen nothing, so nothing of it is lost.
  return { walk: { phase: 'census', streamStart: null, notBeforeMs: 0 }, resumed: offset.walkCursor !== null };
}

/**
 * A drain reads the stream up to where it was at a certain moment: at the last byte of a page, or at the start of a
 * walk. Only responses to later requests count. That holds, since a drain is created before those requests; but the first
 * response of a page's drain may be one that was asked for before, by ListPages, once the page had arrived.
 */
export interface Drain {
  /** By the monotonic clock. */
  readonly startedMs: number;
  /** The newest offset that the first response named; null before it, or where it named none. */
  readonly target: string | null;
  /** A fresh start of the stream that the list gave meanwhile; the end where answers do not name that of the log. */
  readonly start: string | null;
  readonly isReached: boolean;
}

/** A response of the stream that was taken, as a drain sees it. */
export interface DrainResponse {
  readonly answer: StreamResponse;
  readonly reading: StreamReading;
  /** This provider's newest offset is that of the log, not that of the response. */
  readonly namesEnd: boolean;
}

/** So long the stream is read before the list is asked where it ends: mostly it shows that itself. */
const LEAST_READ_MS = 1_000;

export function beginDrain(nowMs: number): Drain {
  return { startedMs: nowMs, target: null, start: null, isReached: false };
}

/**
 * The drain after one more answer that was taken. It never ends by time: a row that is used before its events were read
 * would be overwritten by older versions. It always ends: its target stands still while the stream is read.
 *
 * An empty response is not the end: filtered events move the cursor without being returned. Nor is one with fewer events
 * than were asked for, since servers give fewer as they like. The end is an empty response whose cursor stays, or the
 * newest offset of the log, where the provider names it; elsewhere a fresh start of the stream, which is from after the
 * drain began.
 */
export function drainFurther(drain: Drain, { answer, reading, namesEnd }: DrainResponse): Drain {
  if (drain.isReached) return drain;
  const target = drain.target ?? answer.nextId;
  return { ...drain, target, isReached: reading === 'quiet' || hasReached(answer, namesEnd ? target : drain.start) };
}

/**
 * A fresh start of the stream may end this drain: the list may lag by the margin, and only one that is asked
 * for later is certainly from after the drain began.
 */
export function wantsStart(drain: Drain, { nowMs, marginMs }: { readonly nowMs: number; readonly marginMs: number }) {
  return !drain.isReached && drain.start === null && nowMs - drain.startedMs >= Math.max(marginMs, LEAST_READ_MS);
}
