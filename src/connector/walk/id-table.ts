/*
 * What is kept per instrument, for millions of them: a row of typed arrays each, found by its id. A Map of BigInts takes
 * 80 bytes an id and twice that while it grows; this takes 19 to 28, and no more than a part's sixteenth while it grows.
 *
 * The ids are spread over parts, and each part is a table of its own with open addressing: an id has its slot where its hash
 * points to, or the next free one behind it. A part that is 85 % full is copied into one a quarter larger. An id that was
 * taken out keeps its slot, marked as absent, so that those behind it are still found; copying leaves it behind.
 */

const PARTS = 16;
const FIRST_SLOTS = 64;
const FULL = 0.85;
const GROWTH = 1.25;
/** Slots of one part have numbers below this; a place is the part's number times this, and the slot. */
const SLOTS_LIMIT = 2 ** 40;
const TWO_32 = 2 ** 32;

const FREE = 0;
const ABSENT = 1;
const PRESENT = 2;

/** One part. With each id a digest of 64 bits, marks (bits below 64) and an age (below 65,536) of the user's. */
class Part {
  #states = new Uint8Array(FIRST_SLOTS);
  #ids = new BigInt64Array(FIRST_SLOTS);
  /** The ids again, as pairs of words: comparing these makes no BigInt. */
  #words = new Uint32Array(this.#ids.buffer);
  digests = new BigUint64Array(FIRST_SLOTS);
  ages = new Uint16Array(FIRST_SLOTS);
  #used = 0;
  present = 0;

  marksAt(slot: number): number {
    return (this.#states[slot] as number) >> 2;
  }

  setMarks(slot: number, marks: number): void {
    this.#states[slot] = (marks << 2) | PRESENT;
  }

  idAt(slot: number): bigint {
    return this.#ids[slot] as bigint;
  }

  /** The slot of an id that is present; -1 where it is not. */
  find(low: number, high: number): number {
    const slot = this.#slotOf(low, high);
    return ((this.#states[slot] as number) & 3) === PRESENT ? slot : -1;
  }

  /** The slot of an id, which is made present with a digest, marks and age of 0 where it is not. */
  add(low: number, high: number): number {
    let slot = this.#slotOf(low, high);
    const state = (this.#states[slot] as number) & 3;
    if (state === PRESENT) return slot;
    if (state === FREE) {
      if (this.#used >= Math.floor(this.#states.length * FULL)) {
        this.#grow();
        slot = this.#slotOf(low, high);
      }
      this.#used += 1;
      this.#words[2 * slot] = low;
      this.#words[2 * slot + 1] = high;
    }
    this.#states[slot] = PRESENT;
    this.digests[slot] = 0n;
    this.ages[slot] = 0;
    this.present += 1;
    return slot;
  }

  remove(low: number, high: number): void {
    const slot = this.find(low, high);
    if (slot < 0) return;
    this.#states[slot] = ABSENT;
    this.present -= 1;
  }

  *slots(): Generator<number> {
    for (let slot = 0; slot < this.#states.length; slot++) {
      if (((this.#states[slot] as number) & 3) === PRESENT) yield slot;
    }
  }

  /** The slot of the id, or the free slot where it belongs. There is always a free one. */
  #slotOf(low: number, high: number): number {
    const states = this.#states;
    const words = this.#words;
    let slot = Math.floor((hashOf(low, high) / TWO_32) * states.length);
    while (states[slot] !== FREE && (words[2 * slot] !== low || words[2 * slot + 1] !== high)) {
      slot = slot + 1 === states.length ? 0 : slot + 1;
    }
    return slot;
  }

  #grow(): void {
    const [states, ids, words, digests, ages] = [this.#states, this.#ids, this.#words, this.digests, this.ages];
    // Where most of what is used was taken out, the same room is enough.
    const slots = Math.max(FIRST_SLOTS, Math.ceil((this.present / FULL) * GROWTH));
    this.#states = new Uint8Array(slots);
    this.#ids = new BigInt64Array(slots);
    this.#words = new Uint32Array(this.#ids.buffer);
    this.digests = new BigUint64Array(slots);
    this.ages = new Uint16Array(slots);
    this.#used = this.present;
    for (let from = 0; from < states.length; from++) {
      if (((states[from] as number) & 3) !== PRESENT) continue;
      const [low, high] = [words[2 * from] as number, words[2 * from + 1] as number];
      const to = this.#slotOf(low, high);
      this.#words[2 * to] = low;
      this.#words[2 * to + 1] = high;
      this.#states[to] = states[from] as number;
      this.digests[to] = digests[from] as bigint;
      this.ages[to] = ages[from] as number;
    }
    // Given back at once, and not when a collection finds them.
    for (const { buffer } of [states, ids, digests, ages]) buffer.transfer(0);
  }
}

function hashOf(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** Digest, marks and age by id (int64). A place names what is kept of an id, until the next `add`. */
export class IdTable {
  readonly #parts = Array.from({ length: PARTS }, () => new Part());
  #low = 0;
  #high = 0;

  get size(): number {
    return this.#parts.reduce((sum, { present }) => sum + present, 0);
  }

  /** The place of an id, or undefined. */
  find(id: bigint): number | undefined {
    const part = this.#partOf(id);
    const slot = this.#at(part).find(this.#low, this.#high);
    return slot < 0 ? undefined : part * SLOTS_LIMIT + slot;
  }

  /** The place of an id, which is put in with zeroes where it is not there. */
  add(id: bigint): number {
    const part = this.#partOf(id);
    return part * SLOTS_LIMIT + this.#at(part).add(this.#low, this.#high);
  }

  remove(id: bigint): void {
    this.#at(this.#partOf(id)).remove(this.#low, this.#high);
  }

  digestAt(place: number): bigint {
    return this.#of(place).digests[place % SLOTS_LIMIT] as bigint;
  }

  setDigest(place: number, digest: bigint): void {
    this.#of(place).digests[place % SLOTS_LIMIT] = digest;
  }

  marksAt(place: number): number {
    return this.#of(place).marksAt(place % SLOTS_LIMIT);
  }

  setMarks(place: number, marks: number): void {
    this.#of(place).setMarks(place % SLOTS_LIMIT, marks);
  }

  ageAt(place: number): number {
    return this.#of(place).ages[place % SLOTS_LIMIT] as number;
  }

  setAge(place: number, age: number): void {
    this.#of(place).ages[place % SLOTS_LIMIT] = age;
  }

  /** All ids with their places, in no order. */
  *entries(): Generator<readonly [id: bigint, place: number]> {
    for (const [number, part] of this.#parts.entries()) {
      for (const slot of part.slots()) yield [part.idAt(slot), number * SLOTS_LIMIT + slot];
    }
  }

  #of(place: number): Part {
    return this.#at(Math.floor(place / SLOTS_LIMIT));
  }

  #at(part: number): Part {
    return this.#parts[part] as Part;
  }

  /** The number of the id's part; keeps the id's two words. */
  #partOf(id: bigint): number {
    this.#low = Number(BigInt.asUintN(32, id));
    this.#high = Number(BigInt.asUintN(32, id >> 32n));
    // Other bits than those that choose the slot.
    const mixed = Math.imul(this.#low ^ Math.imul(this.#high, 0x9e3779b1), 0xc2b2ae3d);
    return ((mixed ^ (mixed >>> 13)) >>> 9) & (PARTS - 1);
  }
}
