import type { Census } from './census.ts';
import type { Drain, DrainResponse } from './drain.ts';
import type {
  CoreWrite,
  PageRequest,
  RowFacts,
  WalkFlaw,
  WalkNotification,
  WalkReason,
} from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';
import type { InstrumentsSettings } from './instruments-settings.ts';
import type { ListLag } from './list-lag.ts';
import type { SweepPlan } from './sweep.ts';

/** What a walk has noticed so far; forgotten by a restart, and so then nothing is deleted. */
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

/** What came when the list was asked once more at its end. */
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

/** What happens to a walk. */
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
  /** Whether it must be committed. */
  readonly commits?: boolean;
  readonly write?: CoreWrite;
  readonly notifications?: readonly WalkNotification[];
  readonly ahead?: PageRequest | null;
  /** A fresh walk begins with this step's commit: nothing is touched yet. */
  readonly begins?: WalkReason;
  /** Replaces the census. */
  readonly census?: Census;
  /** What the commit changes in the census. */
  readonly record?: (census: Census) => void;
}

/** The walk at the start of a task: what the committed offset leaves to do. */
export function walkAtStart(offset: InstrumentsOffset): { readonly walk: Walk; readonly resumed: boolean } {
  if (!offset.walkPending) return { walk: { phase: 'idle' }, resumed: false };
  if (offset.walkListed) return { walk: { phase: 'sweeping', plan: null }, resumed: true };
  // Before its first page is committed a walk has seen nothing, so nothing of it is lost.
  return { walk: { phase: 'census', streamStart: null, notBeforeMs: 0 }, resumed: offset.walkCursor !== null };
}
