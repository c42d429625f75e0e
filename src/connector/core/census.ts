import { ToldEvents } from './told-events.ts';

const SEEN = 1;
const OTHER_SCHEMA = 2;
const ADDED_LATELY = 4;
const FIRST_PLACES = 1_024;
/** Deletions by events that are remembered; more within an hour are a broken stream. */
const MOST_DELETED_LATELY = 100_000;

/** How long what events said is remembered: an hour before the walk, and time to take the census in. */
export const REMEMBERED_MS = 90 * 60_000;

/** How a row compares with what the topic holds. */
export type CensusComparison = 'absent' | 'same' | 'sameUnderOtherSchema' | 'different';

/**
 * What the instruments topic holds: per id a digest of the content, and whether the walk has seen it. Digests and marks
 * stand in typed arrays, because half a million objects would cost a hundred megabytes.
 */
export class Census {
  readonly #places = new Map<bigint, number>();
  #digests = new BigUint64Array(FIRST_PLACES);
  #marks = new Uint8Array(FIRST_PLACES);
  /** Whole seconds and one more since the newest event, 0 where none is remembered. */
  #toldAges = new Uint16Array(FIRST_PLACES);
  readonly #deletedLately = new Map<bigint, number>();
  #used = 0;
  /** The events that the topic tells of. */
  readonly told: ToldEvents;

  constructor(told: ToldEvents = new ToldEvents()) {
    this.told = told;
  }

  get size(): number {
    return this.#places.size;
  }

  /**
   * The newest content of an id. The digest is 8 bytes of the Avro body, without the 5 bytes of header, in the schema
   * that is written now: whoever reads a record of another schema encodes it anew before taking the digest.
   */
  put(id: bigint, digest: bigint, isCurrentSchema: boolean): void {
    let place = this.#places.get(id);
    if (place === undefined) {
      place = this.#used++;
      if (place === this.#digests.length) this.#grow();
      this.#places.set(id, place);
    }
    this.#digests[place] = digest;
    const kept = (this.#marks[place] ?? 0) & (SEEN | ADDED_LATELY);
    this.#marks[place] = isCurrentSchema ? kept : kept | OTHER_SCHEMA;
  }

  /** The newest content of an id, as an event told it so long before the census is taken. */
  putEvent(id: bigint, digest: bigint, isCurrentSchema: boolean, ageMs: number): void {
    const isNew = !this.#places.has(id) || this.isAddedLately(id);
    this.put(id, digest, isCurrentSchema);
    if (ageMs > REMEMBERED_MS) return;
    const place = this.#places.get(id) ?? 0;
    this.#toldAges[place] = Math.floor(ageMs / 1_000) + 1;
    if (isNew) this.#marks[place] = (this.#marks[place] ?? 0) | ADDED_LATELY;
    this.#deletedLately.delete(id);
  }

  delete(id: bigint): void {
    this.#places.delete(id);
  }

  /** An event has deleted the instrument so long before the census is taken. */
  deleteByEvent(id: bigint, ageMs: number): void {
    this.delete(id);
    if (ageMs <= REMEMBERED_MS && this.#deletedLately.size < MOST_DELETED_LATELY) this.#deletedLately.set(id, ageMs);
  }

  /** How long before the census an event last told of the instrument; null where that is longer ago than is remembered. */
  toldAgeMs(id: bigint): number | null {
    const place = this.#places.get(id);
    if (place === undefined) return this.#deletedLately.get(id) ?? null;
    const age = this.#toldAges[place] ?? 0;
    return age === 0 ? null : (age - 1) * 1_000;
  }

  /** Whether the topic holds the instrument only since a remembered event: an old list cannot have it yet. */
  isAddedLately(id: bigint): boolean {
    const place = this.#places.get(id);
    return place !== undefined && ((this.#marks[place] ?? 0) & ADDED_LATELY) !== 0;
  }

  compare(id: bigint, digest: bigint): CensusComparison {
    const place = this.#places.get(id);
    if (place === undefined) return 'absent';
    if (this.#digests[place] !== BigInt.asUintN(64, digest)) return 'different';
    return ((this.#marks[place] ?? 0) & OTHER_SCHEMA) === 0 ? 'same' : 'sameUnderOtherSchema';
  }

  /** A row of this id came; an id that the topic does not hold is none of the census. */
  see(id: bigint): void {
    const place = this.#places.get(id);
    if (place !== undefined) this.#marks[place] = (this.#marks[place] ?? 0) | SEEN;
  }

  /** Whether a row of this id came already; false for an id that the topic does not hold. */
  isSeen(id: bigint): boolean {
    const place = this.#places.get(id);
    return place !== undefined && ((this.#marks[place] ?? 0) & SEEN) !== 0;
  }

  /** The ids of which no row came. */
  *unseen(): Generator<bigint> {
    for (const [id, place] of this.#places) {
      if (((this.#marks[place] ?? 0) & SEEN) === 0) yield id;
    }
  }

  #grow(): void {
    const digests = new BigUint64Array(this.#digests.length * 2);
    digests.set(this.#digests);
    this.#digests = digests;
    const marks = new Uint8Array(this.#marks.length * 2);
    marks.set(this.#marks);
    this.#marks = marks;
    const toldAges = new Uint16Array(this.#toldAges.length * 2);
    toldAges.set(this.#toldAges);
    this.#toldAges = toldAges;
  }
}
