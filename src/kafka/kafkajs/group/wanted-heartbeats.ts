import type { Clock } from '../../../support/clock.ts';
import type { FetchWaits } from '../patches/fetch-waits.ts';
import type { KafkaTuning } from '../tuning.ts';

/** kafkajs' own clock may differ by so much; a heartbeat that is wanted too early is not sent. */
const SLACK_MS = 20;

type Limits = Pick<
  KafkaTuning,
  | 'groupSessionTimeoutMs'
  | 'requestTimeoutMs'
  | 'confirmIntervalMs'
  | 'confirmRestingMs'
  | 'confirmAloneMs'
  | 'readAloneMs'
>;

/** kafkajs sends no heartbeat sooner after the last one. A session survives two lost ones, however short it was set. */
export function shortestHeartbeatMs({
  groupSessionTimeoutMs,
  confirmRestingMs,
}: Pick<Limits, 'groupSessionTimeoutMs' | 'confirmRestingMs'>): number {
  return Math.min(confirmRestingMs - SLACK_MS, Math.floor(groupSessionTimeoutMs / 3));
}

/**
 * The heartbeats of a member, which come seldom while it is alone. Where the proof of ownership is awaited, as after a
 * failure of a writer, the wait for the next one is ended, so that it comes as early as in a group of several.
 */
export class WantedHeartbeats {
  readonly waits: FetchWaits;
  readonly #shortestMs: number;
  readonly #clock: Clock;
  #cameMs = Number.NEGATIVE_INFINITY;
  #isWanted = false;

  constructor(limits: Limits, clock: Clock, leaving: AbortSignal) {
    const togetherMs = limits.confirmIntervalMs;
    const aloneMs = Math.max(Math.min(limits.confirmAloneMs, limits.groupSessionTimeoutMs / 4), togetherMs);
    const restingMs = Math.min(limits.confirmRestingMs, togetherMs);
    // A request that waits takes no longer than others to be late.
    const readMs = Math.max(Math.min(limits.readAloneMs, limits.requestTimeoutMs / 2), aloneMs);
    this.#shortestMs = shortestHeartbeatMs(limits);
    this.waits = {
      aloneMs,
      readMs,
      togetherMs,
      restingMs,
      shortestMs: this.#shortestMs,
      sleep: (ms, signal) => clock.sleep(ms, signal),
      leaving,
      longWaits: new Set(),
    };
    this.#clock = clock;
  }

  came(): void {
    this.#cameMs = this.#clock.monotonicMs();
  }

  want(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#endLongWaits()
      // The member leaves.
      .catch(() => {})
      .finally(() => {
        this.#isWanted = false;
      });
  }

  async #endLongWaits(): Promise<void> {
    const leftMs = this.#cameMs + this.#shortestMs + SLACK_MS - this.#clock.monotonicMs();
    if (leftMs > 0) await this.#clock.sleep(leftMs, this.waits.leaving);
    for (const wait of this.waits.longWaits) wait.abort();
  }
}
