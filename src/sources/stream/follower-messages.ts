import type { FollowerOffset, ResetOffset } from './committed-stream.ts';
import type { ResponseTime } from './response-time.ts';
import type { AdoptedOffset, VerifiedStart } from './retention-gap.ts';
import type { DiscardSign } from './stream.ts';
import type { StreamResponse } from './stream-response.ts';

/** The next request of a follower's core. */
export type FollowerRequest =
  /** A fresh start of the stream; of a stream that is begun without an offset, the request without one. */
  | { readonly kind: 'start' }
  /** The stream from our offset; null: without one. */
  | { readonly kind: 'stream'; readonly since: string | null }
  /** The same request with another offset: only whether it gets 200, and how many items, counts; they are dropped. */
  | { readonly kind: 'verifyStart'; readonly since: string }
  | { readonly kind: 'wait'; readonly ms: number };

/** A fresh start of the stream. `newest`: the newest offset that the response names, where it names one. */
export interface StreamStart {
  readonly since: string;
  readonly newest?: string | null;
  readonly time: ResponseTime;
  /** When it was asked for, by the monotonic clock, where the stream went on meanwhile; it may lack what came since then. */
  readonly askedMs?: number;
}

/** The response to a request. Failures that are retried never get here. */
export type FollowerAnswer =
  | ({ readonly kind: 'start' } & StreamStart)
  /** `items`: how many events or checks the response holds, dead letters included. */
  | ({ readonly kind: 'stream'; readonly items: number; readonly time: ResponseTime } & StreamResponse)
  /** The stream request got a 4xx that refuses our offset (see refusesOffset). */
  | { readonly kind: 'refused'; readonly status: number; readonly time: ResponseTime }
  | ({ readonly kind: 'verifyStart' } & VerifiedStart);

/** Written in the transaction that it describes. Dates in milliseconds since the epoch. */
export type FollowerNotification =
  /** `ageMs`: how long ago our offset was known to be one that is served. */
  | {
      readonly kind: 'gapSuspected';
      readonly fromMs: number;
      readonly to: ResponseTime;
      readonly since: string | null;
      readonly ageMs: number;
    }
  /** Events are lost for certain: they are older than what the provider keeps, even if it still serves later ones. */
  | {
      readonly kind: 'gapCertain';
      readonly fromMs: number;
      readonly toMs: number;
      readonly silentMs: number;
      readonly since: string | null;
      readonly to: ResponseTime;
    }
  /** The stream ends before our offset, and did so for minutes. `endsAt`: where it ended at first. */
  | {
      readonly kind: 'streamBehind';
      readonly to: ResponseTime;
      readonly since: string;
      readonly endsAt: string;
      readonly limitMs: number;
    }
  /**
   * Our offset was given up. `gapProven`: what followed it is lost, as far as the stream no longer serves it. `streamReset`:
   * for a lower one, so that what lies between the two may come again.
   */
  | {
      readonly kind: 'gapProven' | 'streamReset';
      readonly why: AdoptedOffset['why'];
      readonly fromMs: number;
      readonly to: ResponseTime;
      readonly lostAfter: string | null;
      /** Null: from wherever the provider begins without an offset. */
      readonly goesOnAfter: string | null;
    }
  /** An operator has reset the offset: what lay between the two may be missing. */
  | {
      readonly kind: 'offsetReset';
      readonly before: ResetOffset;
      readonly filter: string;
      readonly to: ResponseTime;
      /** Null: from wherever the provider begins without an offset. */
      readonly goesOnAfter: string | null;
    };

export interface FollowerDecision<Offset = FollowerOffset, Notification = FollowerNotification> {
  /** Every item of the response becomes a record or a dead letter. */
  readonly writes: boolean;
  /** They may be on the topic already: they change no instrument. */
  readonly isAgain: boolean;
  /** To commit with all of it; null when there is nothing to commit at all. */
  readonly offset: Offset | null;
  readonly notifications: readonly Notification[];
  /** For the log: why a response was dropped. */
  readonly discarded: DiscardSign | null;
  /**
   * To be called once, when the decision is committed, or at once when it has no offset. The core moves on from here
   * only; one whose commit failed is thrown away.
   */
  committed(): void;
}
