const BLOCK_BITS = 10;
const BLOCK_ROWS = 1 << BLOCK_BITS;

/** A growing table: each row has `width` integers of 32 bits (words), which are 0 at first. Growth copies no row. */
export class WordRows {
  readonly #width: number;
  readonly #blocks: (Int32Array | undefined)[] = [];

  constructor(width: number) {
    this.#width = width;
  }

  get(row: number, word: number): number {
    const block = this.#blocks[row >> BLOCK_BITS];
    return block === undefined ? 0 : (block[(row & (BLOCK_ROWS - 1)) * this.#width + word] as number);
  }

  set(row: number, word: number, value: number): void {
    const at = row >> BLOCK_BITS;
    const block = this.#blocks[at] ?? new Int32Array(BLOCK_ROWS * this.#width);
    this.#blocks[at] = block;
    block[(row & (BLOCK_ROWS - 1)) * this.#width + word] = value;
  }
}

const LOW = 0;
const HIGH = 1;
const FIRST_OWN = 2;
/** In a removed row, the first word after the id has this value. Callers never write this value there. */
const NO_ROW = -2;

const PART_BITS = 4;
const PARTS = 1 << PART_BITS;
const FIRST_SLOTS = 16;
const FULL = 0.8;
const GROWTH = 1.25;
const FREE = 0;
const LEFT = -1;

/*
 * A hash table: finds the row of an instrument by its id (int64), for millions of instruments. The first two words of
 * a row are the id. The index takes 5 to 6 bytes for each id; a Map takes 80 to 100 bytes. Rows of removed ids are reused.
 *
 * The index uses open addressing: an id has the slot that its hash selects, or the next free slot. The slots are
 * divided into 16 parts. When a part is full, only this part is copied, which takes one or two milliseconds.
 */
export class IdRows {
  readonly words: WordRows;
  readonly #slots = Array.from({ length: PARTS }, () => new Int32Array(FIRST_SLOTS));
  readonly #used = new Int32Array(PARTS);
  /** The number of rows that are or were in use. */
  #end = 0;
  readonly #freeRows: number[] = [];

  /** @param width the number of words in a row, including the two words of the id */
  constructor(width: number) {
    this.words = new WordRows(width);
  }

  get size(): number {
    return this.#end - this.#freeRows.length;
  }

  /** The row of an id; -1 if the id has no row. */
  find(low: number, high: number): number {
    const slots = this.#partOf(low, high);
    return (slots[this.#slotOf(slots, low, high)] as number) - 1;
  }

  /** Adds a row for a new id. The first word after the id is 0; the other words can hold the values of a removed id. */
  add(low: number, high: number): number {
    const part = partOf(hashOf(low, high));
    const isFull = (this.#used[part] as number) >= Math.floor(this.#partOf(low, high).length * FULL);
    if (isFull) this.#growPart(part);
    const row = this.addHidden(low, high);
    const slots = this.#partOf(low, high);
    slots[this.#slotOf(slots, low, high)] = row + 1;
    this.#used[part] = (this.#used[part] as number) + 1;
    return row;
  }

  /** Adds a row that `find` does not return. */
  addHidden(low: number, high: number): number {
    const row = this.#freeRows.pop() ?? this.#end++;
    this.words.set(row, LOW, low);
    this.words.set(row, HIGH, high);
    this.words.set(row, FIRST_OWN, 0);
    return row;
  }

  remove(row: number): void {
    const [low, high] = [this.words.get(row, LOW), this.words.get(row, HIGH)];
    const slots = this.#partOf(low, high);
    const slot = this.#slotOf(slots, low, high);
    if (slots[slot] === row + 1) slots[slot] = LEFT;
    this.words.set(row, FIRST_OWN, NO_ROW);
    this.#freeRows.push(row);
  }

  idAt(row: number): bigint {
    return (BigInt(this.words.get(row, HIGH)) << 32n) | BigInt(this.words.get(row, LOW) >>> 0);
  }

  hashAt(row: number): number {
    return hashOf(this.words.get(row, LOW), this.words.get(row, HIGH)) & 0x7fffffff;
  }

  *rows(): Generator<number> {
    for (let row = 0; row < this.#end; row++) if (this.words.get(row, FIRST_OWN) !== NO_ROW) yield row;
  }

  /** Copies the part without the slots of removed rows. If many rows were removed, the new array is smaller. */
  #growPart(part: number): void {
    const before = this.#slots[part] as Int32Array<ArrayBuffer>;
    const used = before.reduce((sum, row) => sum + (row > FREE ? 1 : 0), 0);
    const slots = new Int32Array(Math.max(FIRST_SLOTS, Math.ceil((used / FULL) * GROWTH)));
    this.#slots[part] = slots;
    this.#used[part] = used;
    for (const row of before) {
      if (row <= FREE) continue;
      slots[this.#slotOf(slots, this.words.get(row - 1, LOW), this.words.get(row - 1, HIGH))] = row;
    }
    // This frees the memory now, not at the next garbage collection.
    before.buffer.transfer(0);
  }

  #partOf(low: number, high: number): Int32Array {
    return this.#slots[partOf(hashOf(low, high))] as Int32Array;
  }

  /** The slot of an id, or the free slot for a new id. The search ends, because each part always has a free slot. */
  #slotOf(slots: Int32Array, low: number, high: number): number {
    let slot = Math.floor(((hashOf(low, high) >>> PART_BITS) / 2 ** (32 - PART_BITS)) * slots.length);
    for (;;) {
      const row = slots[slot] as number;
      if (row === FREE) return slot;
      if (row !== LEFT && this.words.get(row - 1, LOW) === low && this.words.get(row - 1, HIGH) === high) return slot;
      slot = slot + 1 === slots.length ? 0 : slot + 1;
    }
  }
}

function partOf(hash: number): number {
  return hash & (PARTS - 1);
}

/** Each bit of the hash depends on all bits of `low` and `high`, so that similar ids have distant slots. */
function hashOf(low: number, high: number): number {
  let mixed = low ^ Math.imul(high, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
