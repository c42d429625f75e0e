/** What is asked for again besides its slot waits for the next of these moments, so that it shares a call. */
const LONGEST_WAIT_FOR_COMPANY_MS = 60_000;
/** In intervals: a slot that comes sooner after an answer is left out. No price gets older than the rest plus one. */
const SOONEST_SHARE = 0.1;

/**
 * When the instruments of one partition are refreshed for one kind. The interval has as many slots as full batches are
 * needed, and the hash of an instrument gives it its slot: so those of a slot are one call, each instrument comes once
 * per interval, and after a restart it comes when it would have come anyway, without anything to remember. The slots
 * are those of the wall clock.
 */
export class RefreshSlots {
  readonly #intervalMs: number;
  readonly #epochMs: number;
  readonly #ownPhaseMs: number;
  #phaseMs: number;
  /** The greatest hash of each slot but the last. */
  #bounds = new Int32Array(0);

  /**
   * @param options.epochMs the wall clock at the monotonic time 0.
   * @param options.phase where in the interval the first slot is, from 0 to 1: partitions ask at different times.
   */
  constructor(options: { readonly intervalMs: number; readonly epochMs: number; readonly phase: number }) {
    this.#intervalMs = options.intervalMs;
    this.#epochMs = options.epochMs;
    this.#ownPhaseMs = options.phase * options.intervalMs;
    this.#phaseMs = this.#ownPhaseMs;
  }

  /** Keeps the slots as many as full batches of these instruments are needed; takes their hashes, which are gone then. */
  fit(hashes: Int32Array<ArrayBuffer>, maxItems: number): void {
    // So few begin the interval at the same moment as those of other partitions, and share a call with them.
    this.#phaseMs = 2 * hashes.length <= maxItems ? 0 : this.#ownPhaseMs;
    const slots = Math.max(1, Math.ceil(hashes.length / maxItems));
    if (slots !== this.#count || this.#fullest(hashes) > maxItems) this.#divide(hashes, slots);
    // Given back at once, and not when a collection finds them.
    hashes.buffer.transfer(0);
  }

  get #count(): number {
    return this.#bounds.length + 1;
  }

  /** Into slots of the same size. */
  #divide(hashes: Int32Array, slots: number): void {
    hashes.sort();
    const bounds = new Int32Array(Math.max(0, slots - 1));
    for (let slot = 1; slot < slots; slot++) {
      bounds[slot - 1] = hashes[Math.ceil((slot * hashes.length) / slots) - 1] ?? 0;
    }
    this.#bounds = bounds;
  }

  #fullest(hashes: Int32Array): number {
    const sizes = new Int32Array(this.#count);
    for (const hash of hashes) {
      const slot = this.#of(hash);
      sizes[slot] = (sizes[slot] ?? 0) + 1;
    }
    return sizes.reduce((most, size) => Math.max(most, size), 0);
  }

  /** The slot of a hash, from 0. */
  #of(hash: number): number {
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (hash <= (this.#bounds[middle] ?? 0)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** When the slot of a hash comes next; at most one interval later. */
  next(hash: number, nowMs: number): number {
    return this.#after(this.#phaseMs + (this.#of(hash) * this.#intervalMs) / this.#count, this.#intervalMs, nowMs);
  }

  /** The same for an instrument that was answered just now. */
  nextAfterAnswer(hash: number, nowMs: number): number {
    return this.next(hash, nowMs + this.#intervalMs * SOONEST_SHARE);
  }

  /** The first moment from then on at which something may be asked for besides its slot. */
  inCompany(fromMs: number): number {
    const slotMs = this.#intervalMs / this.#count;
    const everyMs = slotMs / Math.ceil(slotMs / LONGEST_WAIT_FOR_COMPANY_MS);
    return this.#after(this.#phaseMs, everyMs, fromMs - 1);
  }

  /** The first time of a clock that strikes every so often, after a monotonic time, in whole milliseconds of the wall. */
  #after(phaseMs: number, everyMs: number, monotonicMs: number): number {
    const wallMs = Math.round(monotonicMs + this.#epochMs);
    let strikes = Math.floor((wallMs - phaseMs) / everyMs);
    while (Math.round(phaseMs + strikes * everyMs) <= wallMs) strikes += 1;
    return Math.round(phaseMs + strikes * everyMs) - this.#epochMs;
  }
}
