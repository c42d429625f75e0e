// Finds quickly whether a key is new in its object, without making a string of it. Keys are remembered by a hash of
// object and key. A hash that is missing proves that the key is new; one that is there may belong to another key, and
// the reader looks closer. The table is used again for each row; a stamp says which entries belong to this row.

const FIRST_SLOTS = 256;
const MULTIPLIER = 0x9e37_79b1;
const PRIME = 0x0100_0193;

export class SeenKeys {
  #hashes = new Int32Array(FIRST_SLOTS);
  #rounds = new Int32Array(FIRST_SLOTS);
  #round = 1;
  #count = 0;

  /** Forgets all keys. */
  clear(): void {
    if (this.#count === 0) return;
    this.#count = 0;
    this.#round += 1;
    if (this.#hashes.length > FIRST_SLOTS || this.#round === 0x7fff_ffff) this.#resize(FIRST_SLOTS);
  }

  /** False when the key may have come before in its object. */
  add(object: number, key: number): boolean {
    if (2 * this.#count >= this.#hashes.length) this.#grow();
    const hash = Math.imul(object, MULTIPLIER) ^ key;
    if (!this.#insert(hash)) return false;
    this.#count += 1;
    return true;
  }

  #insert(hash: number): boolean {
    const last = this.#hashes.length - 1;
    let slot = Math.imul(hash, MULTIPLIER) >>> 8;
    for (;;) {
      slot &= last;
      if (this.#rounds[slot] !== this.#round) {
        this.#rounds[slot] = this.#round;
        this.#hashes[slot] = hash;
        return true;
      }
      if (this.#hashes[slot] === hash) return false;
      slot += 1;
    }
  }

  #grow(): void {
    const [hashes, rounds, round] = [this.#hashes, this.#rounds, this.#round];
    this.#resize(2 * hashes.length);
    for (const [slot, hash] of hashes.entries()) if (rounds[slot] === round) this.#insert(hash);
  }

  #resize(slots: number): void {
    this.#hashes = new Int32Array(slots);
    this.#rounds = new Int32Array(slots);
    this.#round = 1;
  }
}

/** The hash of a key by its bytes. */
export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c_9dc5 | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), PRIME);
  return hash;
}
