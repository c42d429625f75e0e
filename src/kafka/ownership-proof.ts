import { untilAborted } from '../support/until-aborted.ts';

/**
 * When the group last confirmed that a member owns its partitions. A member that was cut off sees network errors and no
 * fencing; if it opened a writer again after these, it would fence the rightful owner.
 */
export interface OwnershipProof {
  /** The group confirmed a request that was sent at this moment of the monotonic clock. */
  confirm(askedAtMs: number): void;
  /** Whether the group has confirmed since that moment. */
  holdsSince(monotonicMs: number): boolean;
  /** Resolves when the group has confirmed since that moment; rejects with the signal's reason, as after a loss. */
  since(monotonicMs: number, signal: AbortSignal): Promise<void>;
}

/** @param onAwaited called when a proof is asked for that is not there yet. */
export function createOwnershipProof(onAwaited: () => void = () => {}): OwnershipProof {
  let confirmedMs = Number.NEGATIVE_INFINITY;
  let next = Promise.withResolvers<void>();
  return {
    confirm(askedAtMs) {
      if (askedAtMs <= confirmedMs) return;
      confirmedMs = askedAtMs;
      next.resolve();
      next = Promise.withResolvers();
    },
    holdsSince: (monotonicMs) => confirmedMs > monotonicMs,
    async since(monotonicMs, signal) {
      while (confirmedMs <= monotonicMs) {
        onAwaited();
        await untilAborted(next.promise, signal);
      }
    },
  };
}
