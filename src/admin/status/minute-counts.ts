import type { Clock } from '../../support/clock.ts';

const MOST_MINUTES = 240;
const MINUTE_MS = 60_000;

/** Counts written records in each of the last minutes, in constant memory. */
export class MinuteCounts {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #ring = new Array<number>(MOST_MINUTES).fill(0);
  readonly #startMs: number;
  #minute = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
  }

  add(records: number): void {
    this.#moveOn();
    const at = this.#minute % MOST_MINUTES;
    this.#ring[at] = (this.#ring[at] ?? 0) + records;
  }

  /** Returns the counts of at most MOST_MINUTES minutes. The last count is for the current minute. */
  counts(): readonly number[] {
    this.#moveOn();
    const known = Math.min(MOST_MINUTES, this.#minute + 1);
    const first = this.#minute + 1 - known;
    return Array.from({ length: known }, (_, minute) => this.#ring[(first + minute) % MOST_MINUTES] ?? 0);
  }

  #moveOn(): void {
    const now = Math.floor((this.#clock.monotonicMs() - this.#startMs) / MINUTE_MS);
    for (let minute = Math.max(this.#minute, now - MOST_MINUTES) + 1; minute <= now; minute++) {
      this.#ring[minute % MOST_MINUTES] = 0;
    }
    this.#minute = Math.max(this.#minute, now);
  }
}
