import { compareStreamOffsets } from './stream-response.ts';

/** Responses whose age is remembered; beyond it, a lag is estimated by those that came first. */
const MOST_RESPONSES = 1_000;

/**
 * The part of the stream that the events on the topic cover, as far as offsets can be compared. Each event follows the
 * offset that was asked for, `since`; the responses before it ended there at the latest.
 */
export class ReportedEvents {
  readonly #notBeyond: string | null;
  #newest: string | null = null;
  #oldestRemembered: string | null = null;
  readonly #idsOfNewest = new Set<bigint>();
  /** By `since`: how long before the census the oldest event of that response was written. */
  readonly #agesMs = new Map<string, number>();
  /** Of a provider that is behind: where its stream ended, the newest response from before, and whom that named. */
  readonly #end: string | null;
  #acrossEnd: string | null = null;
  readonly #idsAcrossEnd = new Set<bigint>();

  /**
   * `notBeyond`: our offset, or how far we had read; events that follow it belong to a stream that was reset since.
   * `end`: where the stream ends that is behind us, or is read again; null for none. Every event behind it is remembered.
   */
  constructor(notBeyond: string | null = null, end: string | null = null) {
    this.#notBeyond = notBeyond;
    this.#oldestRemembered = end;
    this.#end = end;
  }

  /** Such an event counts as remembered, however old it is. */
  isBehindEnd(since: string | undefined): boolean {
    return this.#end !== null && since !== undefined && !isBefore(since, this.#end);
  }

  /** Some event of the topic; null where its record does not say what was asked for. */
  add(since: string | undefined, id: bigint | null, ageMs: number, isRemembered: boolean): void {
    if (since === undefined) return;
    if (this.#notBeyond !== null && !isBefore(since, this.#notBeyond)) return;
    if (this.#end !== null && isBefore(since, this.#end)) this.#addAcrossEnd(since, id);
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

  /** The events of the newest response that began before the end may lie behind it. */
  #addAcrossEnd(since: string, id: bigint | null): void {
    if (this.#acrossEnd === null || isBefore(this.#acrossEnd, since)) {
      this.#acrossEnd = since;
      this.#idsAcrossEnd.clear();
    }
    if (id !== null && since === this.#acrossEnd) this.#idsAcrossEnd.add(id);
  }

  isAcrossEnd(id: bigint): boolean {
    return this.#idsAcrossEnd.has(id);
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
