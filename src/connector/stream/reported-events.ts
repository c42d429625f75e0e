import { compareStreamOffsets } from './stream-offset.ts';

/**
 * Which part of the stream the events that the topic tells of cover, as far as offsets can be compared. Each event lies
 * behind the offset that was asked for, `since`, and the answers before it ended there at the latest.
 */
/** Answers whose age is remembered; of more, a lag is estimated by those that came first. */
const MOST_ANSWERS = 1_000;

export class ReportedEvents {
  readonly #notBeyond: string | null;
  #newest: string | null = null;
  #oldestRemembered: string | null = null;
  readonly #idsOfNewest = new Set<bigint>();
  /** By what was asked for: how long before the census the oldest event of that answer was told. */
  readonly #agesMs = new Map<string, number>();

  /** `notBeyond`: our offset; what was told behind it belongs to a stream that was reset since. */
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
    if (this.#agesMs.size < MOST_ANSWERS || this.#agesMs.has(since)) {
      this.#agesMs.set(since, Math.max(ageMs, this.#agesMs.get(since) ?? 0));
    }
  }

  /** How long before the census the oldest event was told that lies behind this offset for certain; 0 for none. */
  oldestBehindMs(start: string): number {
    let oldestMs = 0;
    for (const [since, ageMs] of this.#agesMs) if (!isBefore(since, start)) oldestMs = Math.max(oldestMs, ageMs);
    return oldestMs;
  }

  /** Where the newest of them was asked for; null where nothing tells. */
  get newest(): string | null {
    return this.#newest;
  }

  /** Whether the newest answer with events told of an instrument. */
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
