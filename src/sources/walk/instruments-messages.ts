import type {
  FollowerAnswer,
  FollowerDecision,
  FollowerNotification,
  FollowerRequest,
} from '../stream/follower-messages.ts';
import type { FollowerSettings } from '../stream/follower-steps.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import type { StreamResponse } from '../stream/stream-response.ts';
import type { Census } from './census.ts';
import type { InstrumentsOffset, WalkCounts } from './instruments-offset.ts';

/** A page of a certain walk; a page that was fetched ahead is used only for the very same. */
export interface PageRequest {
  readonly walk: number;
  /** Null for the first page. */
  readonly minId: string | null;
}

/** The next request of the core. */
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

export interface EventFacts {
  /** The id of its instrument; null when there is none or it cannot be read. */
  readonly id: bigint | null;
  /** The digest of its instrument; null when the event becomes a dead letter. */
  readonly digest: bigint | null;
  /** Its type deletes the instrument. */
  readonly deletes: boolean;
}

export interface RowFacts {
  /** Null when it cannot be read. */
  readonly id: bigint | null;
  /** Null when the row becomes a dead letter. */
  readonly digest: bigint | null;
}

/** The response to a request. Failures that are retried never get here. */
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

export type CoreWrite =
  | { readonly kind: 'nothing' }
  /** These rows of the page that was handed over last, by position: an instrument, or a dead letter. */
  | { readonly kind: 'rows'; readonly rows: readonly number[]; readonly counts: WalkCounts }
  | { readonly kind: 'tombstones'; readonly ids: readonly bigint[] };

/** Why a walk cannot decide what is gone. */
export type WalkFlaw = 'unreadableId' | 'rowBelowCursor' | 'rowsBehindTheEnd' | 'listLags';

export type CoreNotification = FollowerNotification | WalkNotification;

/** Dates in milliseconds since the epoch. */
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
  /** The instruments topic is another one than before, by its id: this walk fills it. */
  | { readonly kind: 'topicReplaced'; readonly walk: number }
  | { readonly kind: 'deletionSkipped'; readonly walk: number; readonly flaws: readonly WalkFlaw[] };

export type WalkReason =
  | 'first'
  | 'interval'
  | 'requested'
  | 'gapSuspected'
  | 'gapProven'
  | 'topicReplaced'
  | 'streamPassed'
  | 'afterResumed'
  | 'afterGivenUp';

/** An event is written together with its instrument, or with a tombstone where it deletes. */
export interface CoreDecision extends FollowerDecision<InstrumentsOffset, CoreNotification> {
  readonly write: CoreWrite;
  /** The page that may be fetched meanwhile. */
  readonly ahead: PageRequest | null;
  /** For the log: which walk begins. */
  readonly begun: WalkReason | null;
}

/** The lag that a whole walk came to. */
export interface SeenLag {
  /** It is at least this long. */
  readonly lagMs: number;
  /** Rows that no later event explains, and instruments that the list does not have yet. */
  readonly rows: number;
  readonly lacking: number;
}

/** A walk that an operator asked for. The same id is served once, restarts included. */
export interface WalkRequest {
  readonly id: string;
  /** How many instruments it may delete although that is more than one walk may; null for no more than usual. */
  readonly allowShrink: number | null;
}

/** The settings of an instruments source, as far as its decisions need them. Times in milliseconds. */
export interface InstrumentsSettings extends Omit<FollowerSettings, 'begins'> {
  readonly walkIntervalMs: number;
  /** How far the list may lag behind the event stream. */
  readonly handoffMarginMs: number;
  /** Instruments that are gone are deleted from the topic. */
  readonly tombstones: boolean;
  /** The share of the topic that one walk may delete unasked. */
  readonly maxShrink: number;
  /** As many it may always delete. */
  readonly shrinkAlwaysAllowed: number;
}

/** A small universe may lose so many without an operator's consent. */
export const SHRINK_ALWAYS_ALLOWED = 20;
