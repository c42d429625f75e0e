const SEEN = 1;
const OTHER_SCHEMA = 2;
const FIRST_PLACES = 1_024;

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
  #used = 0;

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
    const seen = (this.#marks[place] ?? 0) & SEEN;
    this.#marks[place] = isCurrentSchema ? seen : seen | OTHER_SCHEMA;
  }

  delete(id: bigint): void {
    this.#places.delete(id);
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
  }
}
