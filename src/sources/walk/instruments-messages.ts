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

/** A request for a page of the list. A prefetched page is used only for an equal request. */
export interface PageRequest {
  readonly walk: number;
  /** Null for the first page. */
  readonly minId: string | null;
}

export type CoreRequest =
  | Exclude<FollowerRequest, { kind: 'stream' }>
  | { readonly kind: 'stream'; readonly since: string }
  | { readonly kind: 'census' }
  | ({ readonly kind: 'page' } & PageRequest)
  /** Requests the rows after the last page of the list. `minId`: null if the list was empty. Never prefetched. */
  | { readonly kind: 'behindLast'; readonly minId: string | null }
  | { readonly kind: 'commit'; readonly decision: CoreDecision };

/** The instrument of an event. `id`: null if absent or unreadable. `digest`: null for dead letters and repeated events. */
export interface EventFacts {
  readonly id: bigint | null;
  readonly digest: bigint | null;
  readonly deletes: boolean;
}

export interface RowFacts {
  /** Null if unreadable. */
  readonly id: bigint | null;
  /** Null for a dead letter. */
  readonly digest: bigint | null;
}

export interface FetchedPage {
  readonly minId: string | null;
  readonly rows: readonly RowFacts[];
  readonly next: string | null;
  /** The stream's offset in `links.events`; null if there is no valid offset. */
  readonly start: string | null;
}

export type CoreAnswer =
  | Exclude<FollowerAnswer, { kind: 'stream' }>
  | ({ readonly kind: 'stream'; readonly events: readonly EventFacts[]; readonly time: ResponseTime } & StreamResponse)
  /** After this response, only the core changes the census. */
  | { readonly kind: 'census'; readonly census: Census }
  | ({ readonly kind: 'page'; readonly walk: number } & FetchedPage)
  | { readonly kind: 'behindLast'; readonly rows: readonly RowFacts[]; readonly next: string | null };

export type CoreWrite =
  | { readonly kind: 'nothing' }
  /** `rows`: positions in the newest page. */
  | { readonly kind: 'rows'; readonly rows: readonly number[]; readonly counts: WalkCounts }
  | { readonly kind: 'tombstones'; readonly ids: readonly bigint[] };

/** A reason to distrust the list. A walk with a flaw deletes nothing. */
export type WalkFlaw = 'unreadableId' | 'rowBelowCursor' | 'rowsBehindTheEnd' | 'listLags';

export type CoreNotification = FollowerNotification | WalkNotification;

/** Dates are milliseconds since the epoch. */
export type WalkNotification =
  | {
      readonly kind: 'walkCompleted';
      readonly walk: number;
      readonly startedAtMs: number;
      /** The walk was interrupted, or an operator has moved the offset. Another walk follows. */
      readonly resumed: boolean;
      /** A resumed walk deletes nothing. No walk deletes while the stream repeats earlier events. */
      readonly deletedNothing: 'resumed' | 'repeats' | null;
      readonly counts: WalkCounts;
    }
  | {
      readonly kind: 'shrinkRefused';
      readonly walk: number;
      readonly why: 'emptyList' | 'tooMany';
      readonly gone: number;
      readonly held: number;
    }
  /** `nextMs`: the longest time until the next walk. `waitMs`: the next walk's wait before its first page. */
  | ({ readonly kind: 'listLags'; readonly walk: number; readonly nextMs: number; readonly waitMs: number } & SeenLag)
  /** `walks`: consecutive walks that could not find the removed instruments, including this walk. */
  | { readonly kind: 'deletionsStandStill'; readonly walk: number; readonly walks: number }
  | { readonly kind: 'walkGivenUp'; readonly walk: number; readonly why: string; readonly waitMs: number }
  /** The instruments topic has another id than before. */
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

/** A decision of an instruments source. Each event is written together with its instrument or a tombstone. */
export interface CoreDecision extends FollowerDecision<InstrumentsOffset, CoreNotification> {
  readonly write: CoreWrite;
  readonly ahead: PageRequest | null;
  readonly begun: WalkReason | null;
}

/** The lag that a whole walk has shown. */
export interface SeenLag {
  /** The least possible lag. */
  readonly lagMs: number;
  /** `rows`: rows that contradict events. `lacking`: new instruments that the list does not have yet. */
  readonly rows: number;
  readonly lacking: number;
}

/** An operator's request for a walk. A request is served once, also across restarts, because its `id` is committed. */
export interface WalkRequest {
  readonly id: string;
  /** The walk may delete this number of instruments, even if `maxShrink` allows fewer; null: `maxShrink` decides. */
  readonly allowShrink: number | null;
}

export interface InstrumentsSettings extends Omit<FollowerSettings, 'begins'> {
  readonly walkIntervalMs: number;
  readonly handoffMarginMs: number;
  readonly tombstones: boolean;
  readonly maxShrink: number;
  readonly shrinkAlwaysAllowed: number;
}

export const SHRINK_ALWAYS_ALLOWED = 20;
