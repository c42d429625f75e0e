import type { FollowerOffset, ResetOffset } from './committed-stream.ts';
import type { ResponseTime } from './response-time.ts';
import type { AdoptedOffset, VerifiedStart } from './retention-gap.ts';
import type { DiscardSign, OffsetResponse } from './stream.ts';

/** The next request of a source, or the wait before this request. */
export type FollowerRequest =
  /** Requests a fresh start: the offset at which a new source begins. */
  | { readonly kind: 'start' }
  /** `since`: null for a request without an offset. */
  | { readonly kind: 'stream'; readonly since: string | null }
  /** Requests the stream from another offset, only to learn if the provider serves this offset. */
  | { readonly kind: 'verifyStart'; readonly since: string }
  | { readonly kind: 'wait'; readonly ms: number };

/** A fresh start: a new source begins at the offset `since`. `newest`: the newest offset that the response names. */
export interface StreamStart {
  readonly since: string;
  readonly newest?: string | null;
  readonly time: ResponseTime;
  /** The time of the request, monotonic. The stream may have moved on after the request. */
  readonly askedMs?: number;
}

/** A response for the core. A failed request that is repeated gives no response. */
export type FollowerAnswer =
  | ({ readonly kind: 'start' } & StreamStart)
  | OffsetResponse
  | ({ readonly kind: 'verifyStart' } & VerifiedStart);

/** A notification is written in one transaction with the change that it reports. Dates are epoch milliseconds. */
export type FollowerNotification =
  | {
      readonly kind: 'gapSuspected';
      readonly fromMs: number;
      readonly to: ResponseTime;
      readonly since: string | null;
      readonly ageMs: number;
    }
  /** Events are certainly lost, because the provider no longer keeps them. */
  | {
      readonly kind: 'gapCertain';
      readonly fromMs: number;
      readonly toMs: number;
      readonly silentMs: number;
      readonly since: string | null;
      readonly to: ResponseTime;
    }
  /** For some minutes, the stream's end has been lower than our offset. `endsAt`: the first such end. */
  | {
      readonly kind: 'streamBehind';
      readonly to: ResponseTime;
      readonly since: string;
      readonly endsAt: string;
      readonly limitMs: number;
    }
  /** A fresh offset has replaced ours. `streamReset`: the fresh offset is lower, so events between the two come again. */
  | {
      readonly kind: 'gapProven' | 'streamReset';
      readonly why: AdoptedOffset['why'];
      readonly fromMs: number;
      readonly to: ResponseTime;
      readonly lostAfter: string | null;
      /** Null: the next request has no offset, so the provider chooses the beginning. */
      readonly goesOnAfter: string | null;
    }
  | {
      readonly kind: 'offsetReset';
      readonly before: ResetOffset;
      readonly filter: string;
      readonly to: ResponseTime;
      readonly goesOnAfter: string | null;
    };

export interface FollowerDecision<Offset = FollowerOffset, Notification = FollowerNotification> {
  readonly writes: boolean;
  /** True: the events may already be on the topic, so they change no instrument. */
  readonly isAgain: boolean;
  /** Null if there is nothing to commit. */
  readonly offset: Offset | null;
  readonly notifications: readonly Notification[];
  readonly discarded: DiscardSign | null;
  /** Called once: after the commit, or at once if `offset` is null. */
  committed(): void;
}
