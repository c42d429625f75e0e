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

/** The part of a walk that is not committed. A restart loses this part, so the resumed walk deletes nothing. */
export interface WalkMemory {
  readonly flaws: ReadonlySet<WalkFlaw>;
  readonly lastId: bigint | null;
  readonly lag: ListLag;
}

export interface Verified {
  readonly asked: number;
  /** Ids that the list has after its last page. If events name all these ids too, the ids are new instruments. */
  readonly behind: ReadonlySet<bigint>;
}

/** A walk reads the whole instrument list page by page, and writes what differs from the instruments topic. */
export type Walk =
  | { readonly phase: 'idle' }
  /** Reads the instruments topic. From now on, events touch ids. `notBeforeMs`: the pause after a failed walk ends then. */
  | { readonly phase: 'census'; readonly notBeforeMs: number }
  /** The walk waits for `handoffMargin` or longer, because the list may lag behind the stream. */
  | { readonly phase: 'margin'; readonly drain: Drain }
  | ({ readonly phase: 'paging' } & WalkMemory)
  /** The stream is read up to the end that the stream had when the page arrived. Then the rows are written. */
  | ({ readonly phase: 'draining'; readonly page: FetchedPage; readonly drain: Drain } & WalkMemory)
  /** After the last page, requests with each `minId` in `places` check that no row follows. */
  | ({ readonly phase: 'verifying'; readonly places: readonly (string | null)[] } & Verified & WalkMemory)
  /** The final drain of the stream, and then the sweep. */
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

/** Returns the walk that a new task continues, and the offset from which the task starts. */
export function walkAtStart(offset: InstrumentsOffset): { readonly walk: Walk; readonly offset: InstrumentsOffset } {
  if (!offset.walkPending) return { walk: { phase: 'idle' }, offset };
  const walk = { phase: 'census', notBeforeMs: 0 } as const;
  if (offset.walkCursor !== null) return { walk, offset: { ...offset, walkResumed: true } };
  // Without a cursor, the walk has written either no page or all pages. After all pages, a fresh walk begins.
  return { walk, offset: offset.counts.pages === 0 ? offset : beginWalk(offset, offset.serverDate) };
}

/**
 * A drain reads the stream up to the end that the stream had when a page arrived or a walk began. Only responses to
 * requests after that moment count. `ListPages` can send the first of them before the drain begins.
 */
export interface Drain {
  readonly startedMs: number;
  /** The newest offset that the first response names; null if unknown. */
  readonly target: string | null;
  /** A fresh start from the list: the offset of a new source. Ends the drain if no response names the log's end. */
  readonly start: string | null;
  readonly isReached: boolean;
}

export interface DrainResponse {
  readonly answer: StreamResponse;
  readonly reading: StreamReading;
  /** True if `nextId` of this provider is the end of the log. */
  readonly namesEnd: boolean;
}

/** A drain requests a fresh start only after this time, because the stream usually shows its end earlier. */
const LEAST_READ_MS = 1_000;

export function beginDrain(nowMs: number): Drain {
  return { startedMs: nowMs, target: null, start: null, isReached: false };
}

/**
 * A drain has no time limit: an older event that is read after the drain would overwrite a newer row. Every drain ends,
 * because its target does not move. A drain ends at a response without events and with the same cursor, at the newest
 * offset that the provider names, or at a fresh start. A response with few events or a new cursor does not end a drain.
 */
export function drainFurther(drain: Drain, { answer, reading, namesEnd }: DrainResponse): Drain {
  if (drain.isReached) return drain;
  const target = drain.target ?? answer.nextId;
  return { ...drain, target, isReached: reading === 'quiet' || hasReached(answer, namesEnd ? target : drain.start) };
}

/** True after the margin. The list may lag by the margin, so an earlier fresh start could end the drain too early. */
export function wantsStart(drain: Drain, { nowMs, marginMs }: { readonly nowMs: number; readonly marginMs: number }) {
  return !drain.isReached && drain.start === null && nowMs - drain.startedMs >= Math.max(marginMs, LEAST_READ_MS);
}
