import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';

/**
 * A turn lasts from the beginning of a poll to the end of its commit. A session that must end for another source lets
 * the turns end first.
 */
export class SessionTurns {
  #isOver = false;
  #underWay = 0;
  #quiet = Promise.withResolvers<void>();

  /** Waits for ever once the session is to end. */
  async begin(signal: AbortSignal): Promise<void> {
    if (this.#isOver) await untilAborted(new Promise<never>(() => {}), signal);
    this.#underWay += 1;
  }

  end(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#quiet.resolve();
  }

  /** Lets no turn begin; resolves when those under way have ended, or after a while. */
  async over(clock: Clock, patienceMs: number, signal: AbortSignal): Promise<void> {
    this.#isOver = true;
    this.#quiet = Promise.withResolvers();
    if (this.#underWay === 0) return;
    const enough = new AbortController();
    const patience = clock.sleep(patienceMs, AbortSignal.any([signal, enough.signal])).catch(() => {});
    await Promise.race([this.#quiet.promise, patience]).finally(() => enough.abort());
  }
}
