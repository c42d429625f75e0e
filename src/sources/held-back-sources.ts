import { ConnectorError } from '../errors.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { FailedAttempt } from '../support/retry.ts';
import type { WorkerTarget } from '../worker/target.ts';

/*
 * All sources on one partition of the offsets topic share a transactional writer. So a failed commit drops the fetched
 * pages of all these sources. A source that certainly caused a failure must wait. A source whose commit failed twice in
 * two minutes must wait too. Each further wait is longer. After a wait, a separate writer verifies the source's topics.
 */

const HOLD: BackOff = { initialMs: 1_000, maximumMs: 60_000 };
const FORGOTTEN_AFTER_MS = 120_000;

export interface HeldBackOptions<Source> {
  readonly clock: Clock;
  readonly random: Random;
  readonly target: (source: Source) => WorkerTarget;
  /** Called when a source begins to wait. */
  readonly onHeld: (source: Source, failed: FailedAttempt) => void;
  /** Verifies the source's topics after the wait. Resolves if the topics accept records. Absent: no verification. */
  readonly verifyStart?: ((source: Source, signal: AbortSignal) => Promise<void>) | undefined;
}

interface HeldSource {
  failures: number;
  lastMs: number;
  /** `restartEpoch`: the target's `failedRestartEpoch` at the failure. An operator's restart changes this number. */
  hold: { readonly untilMs: number; readonly restartEpoch: number } | undefined;
}

export class HeldBackSources<Source> {
  readonly #options: HeldBackOptions<Source>;
  readonly #held = new Map<Source, HeldSource>();

  constructor(options: HeldBackOptions<Source>) {
    this.#options = options;
  }

  /** Called after a failed commit or verification. `isCertain`: true if this source is certainly the cause. */
  failed(source: Source, { isCertain, err }: { readonly isCertain: boolean; readonly err: Error }): void {
    const { clock, random, target, onHeld } = this.#options;
    const nowMs = clock.monotonicMs();
    const before = this.#held.get(source);
    const recent = before !== undefined && nowMs - before.lastMs < FORGOTTEN_AFTER_MS ? before.failures : 0;
    const failures = recent + 1;
    const holds = isCertain ? failures : failures - 1;
    const waitMs = holds > 0 ? backOffMs(holds, HOLD, random) : 0;
    const hold = holds > 0 ? { untilMs: nowMs + waitMs, restartEpoch: target(source).failedRestartEpoch } : undefined;
    this.#held.set(source, { failures, lastMs: nowMs, hold });
    if (hold !== undefined) onHeld(source, { failures, waitMs, err });
  }

  /** True while the source must wait. A restart by an operator ends the wait at once. */
  isHeld(source: Source): boolean {
    const hold = this.#held.get(source)?.hold;
    return hold !== undefined && hold.restartEpoch === this.#options.target(source).failedRestartEpoch;
  }

  /** Resolves when the source may run. Rejects with an error that stops the source, or with the signal's reason. */
  async untilFree(source: Source, signal: AbortSignal): Promise<void> {
    const { clock, verifyStart, target } = this.#options;
    while (this.isHeld(source)) {
      const held = this.#held.get(source);
      const leftMs = (held?.hold?.untilMs ?? 0) - clock.monotonicMs();
      const { changed } = target(source);
      const within = AbortSignal.any([signal, changed]);
      if (leftMs > 0) {
        await clock.sleep(leftMs, within).catch(() => {});
        signal.throwIfAborted();
        continue;
      }
      try {
        await verifyStart?.(source, within);
        if (held !== undefined) held.hold = undefined;
      } catch (error) {
        signal.throwIfAborted();
        if (!changed.aborted && error instanceof ConnectorError && error.action === 'stopSource') {
          this.#held.delete(source);
          throw error;
        }
        // If an operator's command aborted the verification, the source has not failed.
        if (!changed.aborted) this.failed(source, { isCertain: true, err: error as Error });
      }
    }
  }
}
