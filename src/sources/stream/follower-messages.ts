import type { FollowerOffset, ResetOffset } from './committed-stream.ts';
import type { ResponseTime } from './response-time.ts';
import type { AdoptedOffset, VerifiedStart } from './retention-gap.ts';
import type { DiscardSign, OffsetResponse } from './stream.ts';

export type FollowerRequest =
  /** A fresh start of the stream; for checks, the request without an offset. */
  | { readonly kind: 'start' }
  /** Null: without an offset. */
  | { readonly kind: 'stream'; readonly since: string | null }
  /** The stream from another offset. Only the status and the number of items count. */
  | { readonly kind: 'verifyStart'; readonly since: string }
  | { readonly kind: 'wait'; readonly ms: number };

/** `newest`: the newest offset that the response names. */
export interface StreamStart {
  readonly since: string;
  readonly newest?: string | null;
  readonly time: ResponseTime;
  /** Monotonic. The stream may have moved on since then. */
  readonly askedMs?: number;
}

/** The response to a request. Failures that are retried never get here. */
export type FollowerAnswer =
  | ({ readonly kind: 'start' } & StreamStart)
  | OffsetResponse
  | ({ readonly kind: 'verifyStart' } & VerifiedStart);

/** Written in the transaction that it describes. Dates in milliseconds since the epoch. */
export type FollowerNotification =
  | {
      readonly kind: 'gapSuspected';
      readonly fromMs: number;
      readonly to: ResponseTime;
      readonly since: string | null;
      readonly ageMs: number;
    }
  /** Events are lost for certain: they are older than the retention. */
  | {
      readonly kind: 'gapCertain';
      readonly fromMs: number;
      readonly toMs: number;
      readonly silentMs: number;
      readonly since: string | null;
      readonly to: ResponseTime;
    }
  /** The stream ended before our offset for minutes. `endsAt`: where it ended at first. */
  | {
      readonly kind: 'streamBehind';
      readonly to: ResponseTime;
      readonly since: string;
      readonly endsAt: string;
      readonly limitMs: number;
    }
  /** Our offset was given up. `streamReset`: for a lower one; events between the two may come again. */
  | {
      readonly kind: 'gapProven' | 'streamReset';
      readonly why: AdoptedOffset['why'];
      readonly fromMs: number;
      readonly to: ResponseTime;
      readonly lostAfter: string | null;
      /** Null: the provider chooses the beginning. */
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
  /** They may be on the topic already, so they change no instrument. */
  readonly isAgain: boolean;
  /** Null when there is nothing to commit. */
  readonly offset: Offset | null;
  readonly notifications: readonly Notification[];
  readonly discarded: DiscardSign | null;
  /** Called once: after the commit, or at once without an offset. */
  committed(): void;
}
