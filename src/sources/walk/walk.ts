import { hasReached, type StreamReading, type StreamResponse } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type {
  CoreAnswer,
  CoreWrite,
  FetchedPage,
  InstrumentsSettings,
  PageRequest,
  WalkFlaw,
  WalkNotification,
  WalkReason,
} from './instruments-messages.ts';
import { beginWalk, type InstrumentsOffset } from './instruments-offset.ts';
import type { ListLag } from './list-lag.ts';

/** A restart loses this memory; the resumed walk then deletes nothing. */
export interface WalkMemory {
  readonly flaws: ReadonlySet<WalkFlaw>;
  readonly lastId: bigint | null;
  readonly lag: ListLag;
}

export interface Verified {
  readonly asked: number;
  /** Ids after the last row. They are new instruments if the stream has named them too. */
  readonly behind: ReadonlySet<bigint>;
}

export type Walk =
  | { readonly phase: 'idle' }
  /**
   * Events touch ids from this phase on. `streamStart`: the first offset of a new source; null for any other source.
   * `notBeforeMs`: the end of the rest after a walk that was given up.
   */
  | { readonly phase: 'census'; readonly streamStart: string | null; readonly notBeforeMs: number }
  /** The walk waits for the margin, because the list may lag behind the stream. */
  | { readonly phase: 'margin'; readonly drain: Drain; readonly streamStart: string | null }
  | ({ readonly phase: 'paging' } & WalkMemory)
  /** The stream is read up to the end that it had at the arrival of the page's last byte. */
  | ({ readonly phase: 'draining'; readonly page: FetchedPage; readonly drain: Drain } & WalkMemory)
  /** The list ended. It is requested again from each of `places`. */
  | ({ readonly phase: 'verifying'; readonly places: readonly (string | null)[] } & Verified & WalkMemory)
  | ({ readonly phase: 'closing'; readonly drain: Drain } & Verified & WalkMemory);

export type WalkPhase = Walk['phase'];

export type WalkInput =
  | { readonly kind: 'begin' }
  | ({ readonly kind: 'streamed' } & DrainResponse)
  | Extract<CoreAnswer, { kind: 'census' | 'page' | 'behindLast' }>
  | { readonly kind: 'usePage' }
  | { readonly kind: 'sweep' };

export interface WalkContext {
  readonly offset: InstrumentsOffset;
  readonly touched: ReadonlySet<bigint>;
  readonly census: Census | null;
  readonly settings: InstrumentsSettings;
  readonly nowMs: number;
}

export interface WalkStep {
  readonly walk: Walk;
  readonly offset?: InstrumentsOffset;
  readonly commits?: boolean;
  readonly write?: CoreWrite;
  readonly notifications?: readonly WalkNotification[];
  readonly ahead?: PageRequest | null;
  /** A fresh walk begins with this commit: no id is touched yet. */
  readonly begins?: WalkReason;
  readonly census?: Census;
  readonly record?: (census: Census) => void;
}

/** Returns the remaining walk of the committed offset, and the offset to start from. */
export function walkAtStart(offset: InstrumentsOffset): { readonly walk: Walk; readonly offset: InstrumentsOffset } {
  if (!offset.walkPending) return { walk: { phase: 'idle' }, offset };
  const walk = { phase: 'census', streamStart: null, notBeforeMs: 0 } as const;
  if (offset.walkCursor !== null) return { walk, offset: { ...offset, walkResumed: true } };
  // Without a cursor, the walk has read no page or all pages. A restart after all pages requires a fresh walk.
  return { walk, offset: offset.counts.pages === 0 ? offset : beginWalk(offset, offset.serverDate) };
}

/**
 * Reads the stream up to the end that it had at the last byte of a page, or at the start of a walk. Only responses to
 * later requests count. ListPages may send the first of these requests after the page has arrived.
 */
export interface Drain {
  readonly startedMs: number;
  /** The newest offset that the first response names; null if unknown. */
  readonly target: string | null;
  /** A fresh start of the stream, from the list: the end of the drain if responses do not name the log's end. */
  readonly start: string | null;
  readonly isReached: boolean;
}

export interface DrainResponse {
  readonly answer: StreamResponse;
  readonly reading: StreamReading;
  /** True if `nextId` of this provider is the end of the log. */
  readonly namesEnd: boolean;
}

/** The list is not requested before this time, because the stream usually shows its end without the list. */
const LEAST_READ_MS = 1_000;

export function beginDrain(nowMs: number): Drain {
  return { startedMs: nowMs, target: null, start: null, isReached: false };
}

/**
 * A drain has no time limit, because unread older events would later overwrite a row of the page. The target does not
 * move, so every drain ends. The end is a quiet response, the log's newest offset if the provider names it, or a later
 * fresh start. A short response, or an empty response that moves, is not the end.
 */
export function drainFurther(drain: Drain, { answer, reading, namesEnd }: DrainResponse): Drain {
  if (drain.isReached) return drain;
  const target = drain.target ?? answer.nextId;
  return { ...drain, target, isReached: reading === 'quiet' || hasReached(answer, namesEnd ? target : drain.start) };
}

/** True after the margin: the list may lag by the margin, so an earlier fresh start may be older than the drain. */
export function wantsStart(drain: Drain, { nowMs, marginMs }: { readonly nowMs: number; readonly marginMs: number }) {
  return !drain.isReached && drain.start === null && nowMs - drain.startedMs >= Math.max(marginMs, LEAST_READ_MS);
}
