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

/** A restart forgets it; the walk then deletes nothing. */
export interface WalkMemory {
  readonly flaws: ReadonlySet<WalkFlaw>;
  readonly lastId: bigint | null;
  readonly lag: ListLag;
}

export interface Verified {
  readonly asked: number;
  /** Ids behind the last row: issued meanwhile, if the stream has named them too. */
  readonly behind: ReadonlySet<bigint>;
}

export type Walk =
  | { readonly phase: 'idle' }
  /**
   * Events touch ids from here on. `streamStart`: of the stream of a new source; null for any other. `notBeforeMs`: a
   * walk that was given up is followed by a rest.
   */
  | { readonly phase: 'census'; readonly streamStart: string | null; readonly notBeforeMs: number }
  /** The list may lag the stream by the margin. */
  | { readonly phase: 'margin'; readonly drain: Drain; readonly streamStart: string | null }
  | ({ readonly phase: 'paging' } & WalkMemory)
  /** The stream is read to its end at the page's last byte. */
  | ({ readonly phase: 'draining'; readonly page: FetchedPage; readonly drain: Drain } & WalkMemory)
  /** The list ended: it is asked once more from these places. */
  | ({ readonly phase: 'verifying'; readonly places: readonly (string | null)[] } & Verified & WalkMemory)
  | ({ readonly phase: 'closing'; readonly drain: Drain } & Verified & WalkMemory);

export type WalkPhase = Walk['phase'];

export type WalkInput =
  | { readonly kind: 'begin' }
  | ({ readonly kind: 'streamed' } & DrainResponse)
  | Extract<CoreAnswer, { kind: 'census' | 'page' | 'behindLast' }>
  | { readonly kind: 'usePage' }
  | { readonly kind: 'sweep' };

/** A step changes none of it. */
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
  /** A fresh walk begins with this commit: nothing is touched yet. */
  readonly begins?: WalkReason;
  readonly census?: Census;
  readonly record?: (census: Census) => void;
}

/** The rest of the walk that the committed offset leaves, and that offset. */
export function walkAtStart(offset: InstrumentsOffset): { readonly walk: Walk; readonly offset: InstrumentsOffset } {
  if (!offset.walkPending) return { walk: { phase: 'idle' }, offset };
  const walk = { phase: 'census', streamStart: null, notBeforeMs: 0 } as const;
  if (offset.walkCursor !== null) return { walk, offset: { ...offset, walkResumed: true } };
  // Without a cursor it has no page yet, or all of them: then a restart has forgotten which instruments are gone.
  return { walk, offset: offset.counts.pages === 0 ? offset : beginWalk(offset, offset.serverDate) };
}

/**
 * Reads the stream up to its end at a page's last byte, or at the start of a walk. Only responses to later requests
 * count; ListPages may have sent the first one, once the page had arrived.
 */
export interface Drain {
  readonly startedMs: number;
  /** The newest offset of the first response. */
  readonly target: string | null;
  /** A fresh start of the stream, from the list; the end where responses do not name that of the log. */
  readonly start: string | null;
  readonly isReached: boolean;
}

export interface DrainResponse {
  readonly answer: StreamResponse;
  readonly reading: StreamReading;
  /** The provider's `nextId` is the end of the log. */
  readonly namesEnd: boolean;
}

/** The list is not asked for the end before: mostly the stream shows it. */
const LEAST_READ_MS = 1_000;

export function beginDrain(nowMs: number): Drain {
  return { startedMs: nowMs, target: null, start: null, isReached: false };
}

/**
 * Never ends by time: a row that is used before its events were read would be overwritten by older versions. The target
 * stands still, so it always ends: at an empty response whose cursor stays, at the newest offset of the log where the
 * provider names it, or at a fresh start from after the beginning of the drain. Empty responses that move, and short
 * ones, are no end.
 */
export function drainFurther(drain: Drain, { answer, reading, namesEnd }: DrainResponse): Drain {
  if (drain.isReached) return drain;
  const target = drain.target ?? answer.nextId;
  return { ...drain, target, isReached: reading === 'quiet' || hasReached(answer, namesEnd ? target : drain.start) };
}

/** The list may lag by the margin: only a fresh start that is asked for later is from after the drain began. */
export function wantsStart(drain: Drain, { nowMs, marginMs }: { readonly nowMs: number; readonly marginMs: number }) {
  return !drain.isReached && drain.start === null && nowMs - drain.startedMs >= Math.max(marginMs, LEAST_READ_MS);
}
