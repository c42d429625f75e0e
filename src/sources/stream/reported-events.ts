import { isBefore } from './stream-response.ts';

/** At most this many responses are remembered. The oldest responses are kept: they show the longest lag of the list. */
const MOST_RESPONSES = 1_000;

/** The stream's responses whose events are on the topic. A response has the events after the `since` of its request. */
export class ReportedEvents {
  readonly #notBeyond: string | null;
  #newest: string | null = null;
  #oldestRemembered: string | null = null;
  readonly #idsOfNewest = new Set<bigint>();
  readonly #agesMs = new Map<string, number>();
  /** The topic has events after this offset that the stream lacks or must still repeat; null: no such events. */
  readonly #end: string | null;
  /** The highest `since` that is lower than `#end`. */
  #acrossEnd: string | null = null;
  readonly #idsAcrossEnd = new Set<bigint>();

  /** Events after `notBeyond` (the furthest read offset) are from before a reset, and are ignored. `end`: as `#end`. */
  constructor(notBeyond: string | null = null, end: string | null = null) {
    this.#notBeyond = notBeyond;
    this.#oldestRemembered = end;
    this.#end = end;
  }

  isBehindEnd(since: string | undefined): boolean {
    return this.#end !== null && since !== undefined && !isBefore(since, this.#end);
  }

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

  /** Only the response to the highest `since` below `#end` may contain events after `#end`. */
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

  /** The age of the oldest event that is certainly after the offset `start`; 0 if there is no such event. */
  oldestBehindMs(start: string): number {
    let oldestMs = 0;
    for (const [since, ageMs] of this.#agesMs) if (!isBefore(since, start)) oldestMs = Math.max(oldestMs, ageMs);
    return oldestMs;
  }

  get newest(): string | null {
    return this.#newest;
  }

  isOfNewest(id: bigint): boolean {
    return this.#idsOfNewest.has(id);
  }

  get upTo(): string | null {
    return this.#notBeyond;
  }

  /** Every event after this offset is remembered; null if no event is remembered. */
  get remembered(): string | null {
    return this.#oldestRemembered;
  }
}
