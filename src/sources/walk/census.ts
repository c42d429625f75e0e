import { IdRows } from '../../support/id-rows.ts';
import { ReportedEvents } from '../stream/reported-events.ts';

const SEEN = 1;
const OTHER_SCHEMA = 2;
const ADDED_LATELY = 4;
/** Deletions by events that are remembered; more within an hour are a broken stream. */
const MOST_DELETED_LATELY = 100_000;

/** How long events are remembered: an hour before the walk, and the time that the census takes. */
export const REMEMBERED_MS = 90 * 60_000;

/** Greater ages count as this one. */
const OLDEST_MS = 18 * 3_600_000;

/** How a row compares with what the topic holds. */
export type CensusComparison = 'absent' | 'same' | 'sameUnderOtherSchema' | 'different';

/**
 * The content of the instruments topic: per id a digest, a mark of the walk that saw it, and how long ago an event
 * named it: whole seconds and one more, 0 where none is remembered.
 */
export class Census {
  readonly #table = new IdTable();
  readonly #deletedLately = new Map<bigint, number>();
  /** The events whose records are on the topic. */
  readonly reported: ReportedEvents;

  constructor(reported: ReportedEvents = new ReportedEvents()) {
    this.reported = reported;
  }

  get size(): number {
    return this.#table.size;
  }

  /**
   * The newest content of an id. The digest is 8 bytes of the Avro body, without the 5 bytes of header, in the schema
   * that is written now: the reader encodes a record of another schema in it before it takes the digest.
   */
  put(id: bigint, digest: bigint, isCurrentSchema: boolean): void {
    const place = this.#table.add(id);
    this.#table.setDigest(place, digest);
    const kept = this.#table.marksAt(place) & (SEEN | ADDED_LATELY);
    this.#table.setMarks(place, isCurrentSchema ? kept : kept | OTHER_SCHEMA);
  }

  /** The newest content of an id, from an event that came `ageMs` before the census, asked after `since`. */
  putEvent(id: bigint, digest: bigint, isCurrentSchema: boolean, ageMs: number, since?: string): void {
    const isNew = this.#table.find(id) === undefined || this.isAddedLately(id);
    this.put(id, digest, isCurrentSchema);
    if (!this.isRemembered(ageMs, since)) return;
    const place = this.#table.add(id);
    this.#table.setAge(place, Math.floor(Math.min(ageMs, OLDEST_MS) / 1_000) + 1);
    if (isNew) this.#table.setMarks(place, this.#table.marksAt(place) | ADDED_LATELY);
    this.#deletedLately.delete(id);
  }

  /** Lately, or behind the end of a provider's stream that is behind us. */
  isRemembered(ageMs: number, since: string | undefined): boolean {
    return ageMs <= REMEMBERED_MS || this.reported.isBehindEnd(since);
  }

  delete(id: bigint): void {
    this.#table.remove(id);
  }

  /** An event deleted the instrument `ageMs` before the census. */
  deleteByEvent(id: bigint, ageMs: number, since?: string): void {
    this.delete(id);
    if (this.isRemembered(ageMs, since) && this.#deletedLately.size < MOST_DELETED_LATELY)
      this.#deletedLately.set(id, ageMs);
  }

  /** How long before the census an event last named the instrument; null where that is longer ago than is remembered. */
  reportedAgeMs(id: bigint): number | null {
    const place = this.#table.find(id);
    if (place === undefined) return this.#deletedLately.get(id) ?? null;
    const age = this.#table.ageAt(place);
    return age === 0 ? null : (age - 1) * 1_000;
  }

  /** The topic holds the instrument only since a remembered event: an old list lacks it. */
  isAddedLately(id: bigint): boolean {
    const place = this.#table.find(id);
    return place !== undefined && (this.#table.marksAt(place) & ADDED_LATELY) !== 0;
  }

  compare(id: bigint, digest: bigint): CensusComparison {
    const place = this.#table.find(id);
    if (place === undefined) return 'absent';
    if (this.#table.digestAt(place) !== BigInt.asUintN(64, digest)) return 'different';
    return (this.#table.marksAt(place) & OTHER_SCHEMA) === 0 ? 'same' : 'sameUnderOtherSchema';
  }

  /** A row of this id came; an id that the topic does not hold is ignored. */
  see(id: bigint): void {
    const place = this.#table.find(id);
    if (place !== undefined) this.#table.setMarks(place, this.#table.marksAt(place) | SEEN);
  }

  /** False for an id that the topic does not hold. */
  isSeen(id: bigint): boolean {
    const place = this.#table.find(id);
    return place !== undefined && (this.#table.marksAt(place) & SEEN) !== 0;
  }

  /** The ids of which no row came. */
  *unseen(): Generator<bigint> {
    for (const [id, place] of this.#table.entries()) {
      if ((this.#table.marksAt(place) & SEEN) === 0) yield id;
    }
  }
}

/** The words of a row behind its id: marks with age above them, and the digest. */
const MARKS = 2;
const DIGEST = 3;
const WIDTH = 5;
const MARK_BITS = 6;

/**
 * Digest, marks (bits below 64) and age (below 65,536) by id (int64), in 25 to 26 bytes. A place names what is kept of an id,
 * until that is removed.
 * Exported for tests.
 */
export class IdTable {
  readonly #rows = new IdRows(WIDTH);

  get size(): number {
    return this.#rows.size;
  }

  /** The place of an id, or undefined. */
  find(id: bigint): number | undefined {
    const row = this.#rows.find(lowOf(id), highOf(id));
    return row < 0 ? undefined : row;
  }

  /** The place of an id, which is put in with zeroes where it is not there. */
  add(id: bigint): number {
    const known = this.find(id);
    if (known !== undefined) return known;
    const row = this.#rows.add(lowOf(id), highOf(id));
    this.setDigest(row, 0n);
    return row;
  }

  remove(id: bigint): void {
    const row = this.find(id);
    if (row !== undefined) this.#rows.remove(row);
  }

  digestAt(place: number): bigint {
    const { words } = this.#rows;
    return (BigInt(words.get(place, DIGEST + 1) >>> 0) << 32n) | BigInt(words.get(place, DIGEST) >>> 0);
  }

  setDigest(place: number, digest: bigint): void {
    this.#rows.words.set(place, DIGEST, lowOf(digest));
    this.#rows.words.set(place, DIGEST + 1, highOf(digest));
  }

  marksAt(place: number): number {
    return this.#rows.words.get(place, MARKS) & (2 ** MARK_BITS - 1);
  }

  setMarks(place: number, marks: number): void {
    this.#rows.words.set(place, MARKS, (this.ageAt(place) << MARK_BITS) | marks);
  }

  ageAt(place: number): number {
    return this.#rows.words.get(place, MARKS) >> MARK_BITS;
  }

  setAge(place: number, age: number): void {
    this.#rows.words.set(place, MARKS, (age << MARK_BITS) | this.marksAt(place));
  }

  /** All ids with their places, in no order. */
  *entries(): Generator<readonly [id: bigint, place: number]> {
    for (const row of this.#rows.rows()) yield [this.#rows.idAt(row), row];
  }
}

function lowOf(number: bigint): number {
  return Number(BigInt.asIntN(32, number));
}

function highOf(number: bigint): number {
  return Number(BigInt.asIntN(32, number >> 32n));
}
