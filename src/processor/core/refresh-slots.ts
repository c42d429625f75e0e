/** The part of an interval by which a refresh may come early, so that neighbours share a request. */
const EARLY_SHARE = 1 / 30;

/**
 * When instruments are refreshed: once per interval, each in the slot that its hash gives it. The slots are those of the
 * wall clock, so nothing need be remembered: after a restart each instrument comes when it would have come anyway, and
 * never all at once.
 */
export interface RefreshSlots {
  /** The first slot of a hash after a monotonic time; at most one interval later. */
  after(hash: number, monotonicMs: number): number;
  /** How long before its slot an instrument may be taken. */
  readonly earlyMs: number;
}

/** `epochMs`: the wall clock at the monotonic time 0. */
export function createRefreshSlots(intervalMs: number, epochMs: number): RefreshSlots {
  return {
    earlyMs: intervalMs * EARLY_SHARE,
    after(hash, monotonicMs) {
      // Whole milliseconds: a slot that was missed by the last digit of a fraction would come twice.
      const wallMs = Math.round(monotonicMs + epochMs);
      const sinceSlotMs = modulo(wallMs - (hash % intervalMs), intervalMs);
      return wallMs - sinceSlotMs + intervalMs - epochMs;
    },
  };
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
