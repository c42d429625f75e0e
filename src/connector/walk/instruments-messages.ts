import type { ResetOffset } from '../stream/reset-offset.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import type { GapSign } from '../stream/retention-gap.ts';
import type { DiscardSign } from '../stream/stream.ts';
import type { StreamResponse } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';
import type { SeenLag } from './list-lag.ts';
import type { WalkCounts } from './walk-counts.ts';

/** A page of a certain walk; a page that was fetched ahead is used only for the very same. */
export interface PageRequest {
  readonly walk: number;
  /** Null for the first page. */
  readonly minId: string | null;
}

/** What the core wants next. */
export type CoreRequest =
  /** The list with limit=1, for the stream's fresh start E in its `links.events`; its row is not used. */
  | { readonly kind: 'probe' }
  /** The event stream from our offset. */
  | { readonly kind: 'events'; readonly since: string }
  /** The same request with another offset: only whether it gets 200 counts, the events are dropped. */
  | { readonly kind: 'verifyStart'; readonly since: string }
  /** The instruments topic, read to its end. */
  | { readonly kind: 'census' }
  | ({ readonly kind: 'page' } & PageRequest)
  /** The list once more at its end, or whole if it was empty: no row may lie behind its last one. Never fetched ahead. */
  | { readonly kind: 'behindLast'; readonly minId: string | null }
  /** Nothing to ask: commit this decision. */
  | { readonly kind: 'commit'; readonly decision: CoreDecision }
  | { readonly kind: 'wait'; readonly ms: number };

/** What a decision needs to know of one event. */
export interface EventFacts {
  /** The id of its instrument; null when there is none or it cannot be read. */
  readonly id: bigint | null;
  /** The digest of its instrument; null when the event becomes a dead letter. */
  readonly digest: bigint | null;
  /** Whether its type is one of those that delete the instrument. */
  readonly deletes: boolean;
}

/** What a decision needs to know of one row of the list. */
export interface RowFacts {
  /** Null when it cannot be read. */
  readonly id: bigint | null;
  /** Null when the row becomes a dead letter. */
  readonly digest: bigint | null;
}

/** What came of a request. Failures that another try may mend never get here. */
export type CoreAnswer =
  | { readonly kind: 'probe'; readonly since: string; readonly time: ResponseTime }
  | ({ readonly kind: 'events'; readonly events: readonly EventFacts[]; readonly time: ResponseTime } & StreamResponse)
  /** The events request got a 4xx that refuses our offset (see refusesOffset). */
  | { readonly kind: 'refused'; readonly status: number; readonly time: ResponseTime }
  /** `items`: how many events lie behind the offset that was tried. */
  | { readonly kind: 'verifyStart'; readonly taken: boolean; readonly items: number }
  /** Filled from the topic by the caller; the core owns it from here. */
  | { readonly kind: 'census'; readonly census: Census }
  | {
      readonly kind: 'page';
      readonly walk: number;
      readonly minId: string | null;
      readonly rows: readonly RowFacts[];
      readonly next: string | null;
      /** The stream's offset in its `links.events`; null where it has none of the documented form. */
      readonly start: string | null;
    }
  | { readonly kind: 'behindLast'; readonly rows: readonly RowFacts[]; readonly next: string | null };

/** What of an answer becomes records. */
export type CoreWrite =
  | { readonly kind: 'nothing' }
  /** Every event of the answer: the event and its instrument (a tombstone where it deletes), or a dead letter. */
  | { readonly kind: 'events' }
  /** These rows of the page that was handed over last, by position: an instrument, or a dead letter. */
  | { readonly kind: 'rows'; readonly rows: readonly number[]; readonly counts: WalkCounts }
  | { readonly kind: 'tombstones'; readonly ids: readonly bigint[] };

/** Why a walk cannot decide what is gone. */
export type WalkFlaw = 'unreadableId' | 'rowBelowCursor' | 'rowsBehindTheEnd' | 'streamNotDrained' | 'listLags';

/** What goes to the notifications topic, in the transaction that it describes. Dates in milliseconds since the epoch. */
export type CoreNotification =
  | {
      readonly kind: 'walkCompleted';
      readonly walk: number;
      readonly startedAtMs: number;
      readonly resumed: boolean;
      readonly counts: WalkCounts;
    }
  /** `ageMs`: how long ago our offset was known to be one that is served. */
  | {
      readonly kind: 'gapSuspected';
      readonly fromMs: number;
      readonly to: ResponseTime;
      readonly since: string;
      readonly ageMs: number;
    }
  /** Events are lost for certain: they are older than what the provider keeps, even if it still serves later ones. */
  | {
      readonly kind: 'gapCertain';
      readonly fromMs: number;
      readonly toMs: number;
      readonly silentMs: number;
      readonly since: string;
      readonly to: ResponseTime;
    }
  /** Events between the two offsets, dropped or not, are lost for good. `streamReset`: the stream restarted. */
  | {
      readonly kind: 'gapProven' | 'streamReset';
      readonly why: GapSign;
      readonly fromMs: number;
      readonly to: ResponseTime;
      readonly lostAfter: string;
      readonly goesOnAfter: string;
    }
  /** An operator has reset the offset: what happened between the two may be missing among the events. */
  | {
      readonly kind: 'offsetReset';
      readonly before: ResetOffset;
      readonly filter: string;
      readonly to: ResponseTime;
      readonly goesOnAfter: string;
    }
  | {
      readonly kind: 'shrinkRefused';
      readonly walk: number;
      readonly why: 'emptyList' | 'tooMany';
      readonly gone: number;
      readonly held: number;
    }
  /** The list was older than events from before the walk. `waitMs`: how long the next walk waits for the list. */
  | ({ readonly kind: 'listLags'; readonly walk: number; readonly waitMs: number } & SeenLag)
  /** So many walks in a row could not decide what is gone, this one included. */
  | { readonly kind: 'deletionsStandStill'; readonly walk: number; readonly walks: number }
  /** The list does not come to an end: this walk is given up, and another one begun after a wait. */
  | { readonly kind: 'walkGivenUp'; readonly walk: number; readonly why: string; readonly waitMs: number }
  | { readonly kind: 'deletionSkipped'; readonly walk: number; readonly flaws: readonly WalkFlaw[] };

export type WalkReason =
  | 'first'
  | 'interval'
  | 'requested'
  | 'gapSuspected'
  | 'gapProven'
  | 'afterResumed'
  | 'afterGivenUp';

/** What an answer means. */
export interface CoreDecision {
  readonly write: CoreWrite;
  /** To commit with all of it; null when there is nothing to commit at all. */
  readonly offset: InstrumentsOffset | null;
  readonly notifications: readonly CoreNotification[];
  /** The page that may be fetched meanwhile. */
  readonly ahead: PageRequest | null;
  /** For the log: why an answer was dropped, and which walk begins. */
  readonly discarded: DiscardSign | null;
  readonly begun: WalkReason | null;
  /**
   * To be called once, when the decision is committed, or at once when it has no offset. The core moves on from here
   * only; one whose commit failed is thrown away.
   */
  committed(): void;
}
