import { untilAborted } from '../support/until-aborted.ts';

/** So many calls at a time and no more; who waits longest comes next. */
export class CallSlots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(slots: number) {
    this.#free = slots;
  }

  /** @throws what the work throws, or the signal's reason when it aborts before there is a slot. */
  async use<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#take(signal);
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    const grant = () => turn.resolve();
    this.#waiting.add(grant);
    try {
      await untilAborted(turn.promise, signal);
    } catch (reason) {
      // Granted and aborted in the same moment: the slot goes to the next.
      if (!this.#waiting.delete(grant)) this.#release();
      throw reason;
    }
  }

  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
