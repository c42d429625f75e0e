import type { Clock } from '../../../support/clock.ts';
import type { FetchWaits } from '../patches/fetch-waits.ts';
import type { KafkaTuning } from '../tuning.ts';

/** kafkajs' own clock may differ by so much; a heartbeat that is wanted too early is not sent. */
const SLACK_MS = 20;

type Limits = Pick<KafkaTuning, 'groupSessionTimeoutMs' | 'confirmIntervalMs' | 'confirmRestingMs' | 'confirmAloneMs'>;

/** kafkajs sends no heartbeat sooner after the last one. A session survives two lost ones, however short it was set. */
export function shortestHeartbeatMs({ groupSessionTimeoutMs, confirmRestingMs }: Limits): number {
  return Math.min(confirmRestingMs - SLACK_MS, Math.floor(groupSessionTimeoutMs / 3));
}

/**
 * The heartbeats of a member: each follows a fetch, which waits for long while the member is alone and nothing arrives.
 * Where the proof of ownership is awaited, as after a failure of a writer, that wait is ended, so that the heartbeat comes
 * as early as in a group of several.
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
    this.waits = { aloneMs, togetherMs, restingMs, leaving, longWaits: new Set() };
    this.#shortestMs = shortestHeartbeatMs(limits);
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
