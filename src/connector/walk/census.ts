import { ReportedEvents } from '../stream/reported-events.ts';
import { IdTable } from './id-table.ts';

const SEEN = 1;
const OTHER_SCHEMA = 2;
const ADDED_LATELY = 4;
/** Deletions by events that are remembered; more within an hour are a broken stream. */
const MOST_DELETED_LATELY = 100_000;

/** How long events are remembered: an hour before the walk, and the time that the census takes. */
export const REMEMBERED_MS = 90 * 60_000;

/** How a row compares with what the topic holds. */
export type CensusComparison = 'absent' | 'same' | 'sameUnderOtherSchema' | 'different';

/**
 * What the instruments topic holds: per id a digest of the content, whether the walk has seen it, and how long ago an event
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

  /** The newest content of an id, from an event that came `ageMs` before the census. */
  putEvent(id: bigint, digest: bigint, isCurrentSchema: boolean, ageMs: number): void {
    const isNew = this.#table.find(id) === undefined || this.isAddedLately(id);
    this.put(id, digest, isCurrentSchema);
    if (ageMs > REMEMBERED_MS) return;
    const place = this.#table.add(id);
    this.#table.setAge(place, Math.floor(ageMs / 1_000) + 1);
    if (isNew) this.#table.setMarks(place, this.#table.marksAt(place) | ADDED_LATELY);
    this.#deletedLately.delete(id);
  }

  delete(id: bigint): void {
    this.#table.remove(id);
  }

  /** An event deleted the instrument `ageMs` before the census. */
  deleteByEvent(id: bigint, ageMs: number): void {
    this.delete(id);
    if (ageMs <= REMEMBERED_MS && this.#deletedLately.size < MOST_DELETED_LATELY) this.#deletedLately.set(id, ageMs);
  }

  /** How long before the census an event last named the instrument; null where that is longer ago than is remembered. */
  reportedAgeMs(id: bigint): number | null {
    const place = this.#table.find(id);
    if (place === undefined) return this.#deletedLately.get(id) ?? null;
    const age = this.#table.ageAt(place);
    return age === 0 ? null : (age - 1) * 1_000;
  }

  /** Whether the topic holds the instrument only since a remembered event: an old list cannot have it yet. */
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

  /** Whether a row of this id came already; false for an id that the topic does not hold. */
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
