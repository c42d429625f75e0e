import { compareStreamOffsets } from './stream-offset.ts';

/** Responses whose age is remembered; beyond it, a lag is estimated by those that came first. */
const MOST_RESPONSES = 1_000;

/**
 * Which part of the stream the events on the topic cover, as far as offsets can be compared. Each event follows the
 * offset that was asked for, `since`; the responses before it ended there at the latest.
 */
export class ReportedEvents {
  readonly #notBeyond: string | null;
  #newest: string | null = null;
  #oldestRemembered: string | null = null;
  readonly #idsOfNewest = new Set<bigint>();
  /** By `since`: how long before the census the oldest event of that response was written. */
  readonly #agesMs = new Map<string, number>();

  /** `notBeyond`: our offset; events that follow it belong to a stream that was reset since. */
  constructor(notBeyond: string | null = null) {
    this.#notBeyond = notBeyond;
  }

  /** Some event of the topic; null where its record does not say what was asked for. */
  add(since: string | undefined, id: bigint | null, ageMs: number, isRemembered: boolean): void {
    if (since === undefined) return;
    if (this.#notBeyond !== null && !isBefore(since, this.#notBeyond)) return;
    const isNewest = this.#newest === null || isBefore(this.#newest, since);
    if (isNewest) {
      this.#newest = since;
      this.#idsOfNewest.clear();
    }
    if (id !== null && since === this.#newest) this.#idsOfNewest.add(id);
    if (!isRemembered && !isNewest) return;
    if (isRemembered && (this.#oldestRemembered === null || isBefore(since, this.#oldestRemembered))) {
      this.#oldestRemembered = since;
    }
    if (this.#agesMs.size < MOST_RESPONSES || this.#agesMs.has(since)) {
      this.#agesMs.set(since, Math.max(ageMs, this.#agesMs.get(since) ?? 0));
    }
  }

  /** How long before the census the oldest event was written that certainly follows this offset; 0 for none. */
  oldestBehindMs(start: string): number {
    let oldestMs = 0;
    for (const [since, ageMs] of this.#agesMs) if (!isBefore(since, start)) oldestMs = Math.max(oldestMs, ageMs);
    return oldestMs;
  }

  /** The `since` of the newest of them; null when the topic has none. */
  get newest(): string | null {
    return this.#newest;
  }

  /** Whether the newest response with events named the instrument. */
  isOfNewest(id: bigint): boolean {
    return this.#idsOfNewest.has(id);
  }

  /** Our offset when they were read. */
  get upTo(): string | null {
    return this.#notBeyond;
  }

  /** Every event behind this offset is remembered; null where none is. */
  get remembered(): string | null {
    return this.#oldestRemembered;
  }
}

function isBefore(a: string, b: string): boolean {
  return (compareStreamOffsets(a, b) ?? 0) < 0;
}
