import { IdRows } from '../../support/id-rows.ts';
import { ReportedEvents } from '../stream/reported-events.ts';

/** Marks of an id: a row of this walk showed it; its record has another schema id; a recent event added it. */
const SEEN = 1;
const OTHER_SCHEMA = 2;
const ADDED_LATELY = 4;
/** At most this many deletions by events are remembered. A stream with more deletions in an hour is probably broken. */
const MOST_DELETED_LATELY = 100_000;

/** The census remembers events up to this age: an hour before the walk, plus time for the census itself. */
export const REMEMBERED_MS = 90 * 60_000;

/** Greater ages count as this age. */
const OLDEST_MS = 18 * 3_600_000;

/** A row has five 32-bit integers: two for the id; one for the age (high bits) and the marks; two for the digest. */
const MARKS = 2;
const DIGEST = 3;
const WIDTH = 5;
const MARK_BITS = 6;

/**
 * The content of the instruments topic. A walk compares this content with the provider's list. An id takes 25 to 26
 * bytes, for the digest of the record, the marks, and the age of the last event. The age is in seconds plus one; 0: no event.
 */
export class Census {
  readonly #rows = new IdRows(WIDTH);
  readonly #deletedLately = new Map<bigint, number>();
  readonly #overtaken = new Set<bigint>();
  #newestShownMs = Number.POSITIVE_INFINITY;
  /** The events whose records are on the topic. */
  readonly reported: ReportedEvents;

  constructor(reported: ReportedEvents = new ReportedEvents()) {
    this.reported = reported;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Keeps the newest content of an id. `digest`: 8 bytes, of the Avro body without header, in the current schema. */
  put(id: bigint, digest: bigint, isCurrentSchema: boolean): void {
    const known = this.#find(id);
    const row = known < 0 ? this.#rows.add(lowOf(id), highOf(id)) : known;
    const { words } = this.#rows;
    words.set(row, DIGEST, lowOf(digest));
    words.set(row, DIGEST + 1, highOf(digest));
    const kept = words.get(row, MARKS) & ~OTHER_SCHEMA;
    words.set(row, MARKS, isCurrentSchema ? kept : kept | OTHER_SCHEMA);
  }

  /** Like `put`, for a record of an event. `ageMs`: the event's age at the census. `since`: the requested offset. */
  putEvent(id: bigint, digest: bigint, isCurrentSchema: boolean, ageMs: number, since?: string): void {
    const isNew = this.#find(id) < 0 || this.isAddedLately(id);
    this.put(id, digest, isCurrentSchema);
    if (!this.isRemembered(ageMs, since)) return;
    const age = Math.floor(Math.min(ageMs, OLDEST_MS) / 1_000) + 1;
    const marks = (this.#marksOf(id) & (2 ** MARK_BITS - 1)) | (isNew ? ADDED_LATELY : 0);
    this.#rows.words.set(this.#find(id), MARKS, (age << MARK_BITS) | marks);
    this.#deletedLately.delete(id);
  }

  /** True for a recent event. Also true for an event that the stream lacks or must still repeat (`ReportedEvents`). */
  isRemembered(ageMs: number, since: string | undefined): boolean {
    return ageMs <= REMEMBERED_MS || this.reported.isBehindEnd(since);
  }

  delete(id: bigint): void {
    const row = this.#find(id);
    if (row >= 0) this.#rows.remove(row);
  }

  /** Removes an instrument that an event deleted, `ageMs` before the census. */
  deleteByEvent(id: bigint, ageMs: number, since?: string): void {
    this.delete(id);
    if (this.isRemembered(ageMs, since) && this.#deletedLately.size < MOST_DELETED_LATELY)
      this.#deletedLately.set(id, ageMs);
  }

  /** The time from the last event of the instrument to the census; null if no event is remembered. */
  reportedAgeMs(id: bigint): number | null {
    if (this.#find(id) < 0) return this.#deletedLately.get(id) ?? null;
    const age = this.#marksOf(id) >> MARK_BITS;
    return age === 0 ? null : (age - 1) * 1_000;
  }

  /** True if a remembered event added the instrument. A list from before this event lacks the instrument. */
  isAddedLately(id: bigint): boolean {
    return (this.#marksOf(id) & ADDED_LATELY) !== 0;
  }

  setOvertaken(id: bigint, isOvertaken: boolean): void {
    if (isOvertaken) this.#overtaken.add(id);
    else this.#overtaken.delete(id);
  }

  /** True if a later event than the last event on the topic is a dead letter. A row may be newer than the topic. */
  isOvertaken(id: bigint): boolean {
    return this.#overtaken.has(id);
  }

  digestOf(id: bigint): bigint | null {
    const row = this.#find(id);
    const word = (at: number) => BigInt(this.#rows.words.get(row, at));
    return row < 0 ? null : BigInt.asUintN(64, (word(DIGEST + 1) << 32n) | BigInt.asUintN(32, word(DIGEST)));
  }

  compare(id: bigint, digest: bigint): 'absent' | 'same' | 'sameUnderOtherSchema' | 'different' {
    const row = this.#find(id);
    if (row < 0) return 'absent';
    const { words } = this.#rows;
    const isSame = words.get(row, DIGEST) === lowOf(digest) && words.get(row, DIGEST + 1) === highOf(digest);
    if (!isSame) return 'different';
    return (this.#marksOf(id) & OTHER_SCHEMA) === 0 ? 'same' : 'sameUnderOtherSchema';
  }

  /** The age of the newest event that added an instrument which a row has shown; infinite if there is no such event. */
  get newestShownMs(): number {
    return this.#newestShownMs;
  }

  /** Marks the id as shown by a row; an id that is not on the topic is ignored. */
  see(id: bigint): void {
    const row = this.#find(id);
    if (row >= 0) this.#rows.words.set(row, MARKS, this.#marksOf(id) | SEEN);
    if (this.isAddedLately(id)) this.#newestShownMs = Math.min(this.#newestShownMs, this.reportedAgeMs(id) ?? 0);
  }

  isSeen(id: bigint): boolean {
    return (this.#marksOf(id) & SEEN) !== 0;
  }

  *unseen(): Generator<bigint> {
    for (const row of this.#rows.rows())
      if ((this.#rows.words.get(row, MARKS) & SEEN) === 0) yield this.#rows.idAt(row);
  }

  #find(id: bigint): number {
    return this.#rows.find(lowOf(id), highOf(id));
  }

  #marksOf(id: bigint): number {
    const row = this.#find(id);
    return row < 0 ? 0 : this.#rows.words.get(row, MARKS);
  }
}

function lowOf(number: bigint): number {
  return Number(BigInt.asIntN(32, number));
}

function highOf(number: bigint): number {
  return Number(BigInt.asIntN(32, number >> 32n));
}
