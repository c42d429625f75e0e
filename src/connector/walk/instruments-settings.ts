import type { FollowerSettings } from '../stream/follower-steps.ts';

/** The settings of an instruments source, as far as its decisions need them. Times in milliseconds. */
export interface InstrumentsSettings extends Omit<FollowerSettings, 'begins'> {
  readonly walkIntervalMs: number;
  /** How far the list may lag behind the event stream. */
  readonly handoffMarginMs: number;
  readonly drainLimitMs: number;
  /** Whether instruments that are gone are deleted from the topic. */
  readonly tombstones: boolean;
  /** The share of the topic that one walk may delete unasked. */
  readonly maxShrink: number;
  /** As many it may always delete. */
  readonly shrinkAlwaysAllowed: number;
}

/** What a small universe may lose without a question. */
export const SHRINK_ALWAYS_ALLOWED = 20;
