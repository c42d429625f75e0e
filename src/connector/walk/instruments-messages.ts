import type {
  FollowerAnswer,
  FollowerDecision,
  FollowerNotification,
  FollowerRequest,
} from '../stream/follower-messages.ts';
import type { ResponseTime } from '../stream/response-time.ts';
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

/** What the core wants next: of the stream, of which the list gives a fresh start, or of the walk. */
export type CoreRequest =
  | Exclude<FollowerRequest, { kind: 'stream' }>
  | { readonly kind: 'stream'; readonly since: string }
  /** The instruments topic, read to its end. */
  | { readonly kind: 'census' }
  | ({ readonly kind: 'page' } & PageRequest)
  /** The list once more at its end, or whole if it was empty: no row may lie behind its last one. Never fetched ahead. */
  | { readonly kind: 'behindLast'; readonly minId: string | null }
  /** Nothing to ask: commit this decision. */
  | { readonly kind: 'commit'; readonly decision: CoreDecision };

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
  | Exclude<FollowerAnswer, { kind: 'stream' }>
  | ({ readonly kind: 'stream'; readonly events: readonly EventFacts[]; readonly time: ResponseTime } & StreamResponse)
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

/** What of a walk becomes records. */
export type CoreWrite =
  | { readonly kind: 'nothing' }
  /** These rows of the page that was handed over last, by position: an instrument, or a dead letter. */
  | { readonly kind: 'rows'; readonly rows: readonly number[]; readonly counts: WalkCounts }
  | { readonly kind: 'tombstones'; readonly ids: readonly bigint[] };

/** Why a walk cannot decide what is gone. */
export type WalkFlaw = 'unreadableId' | 'rowBelowCursor' | 'rowsBehindTheEnd' | 'streamNotDrained' | 'listLags';

export type CoreNotification = FollowerNotification | WalkNotification;

/** What a walk notifies of, beside the stream. Dates in milliseconds since the epoch. */
export type WalkNotification =
  | {
      readonly kind: 'walkCompleted';
      readonly walk: number;
      readonly startedAtMs: number;
      readonly resumed: boolean;
      readonly counts: WalkCounts;
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

/** What a response means. Of an event that is written, its instrument is, too, or a tombstone where it deletes. */
export interface CoreDecision extends FollowerDecision<InstrumentsOffset, CoreNotification> {
  readonly write: CoreWrite;
  /** The page that may be fetched meanwhile. */
  readonly ahead: PageRequest | null;
  /** For the log: which walk begins. */
  readonly begun: WalkReason | null;
}
