const BLOCK_BITS = 10;
const BLOCK_ROWS = 1 << BLOCK_BITS;

/** Rows of 32-bit words, from 0. They come in blocks, so growing copies nothing; what was never written is 0. */
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
/** In place of the first word behind an id, which is never this one. */
const NO_ROW = -2;

const PART_BITS = 4;
const PARTS = 1 << PART_BITS;
const FIRST_SLOTS = 16;
const FULL = 0.8;
const GROWTH = 1.25;
const FREE = 0;
const LEFT = -1;

/*
 * A row of words for each of millions of instruments. The first two words are the id (int64), and 5 to 6 bytes find it; a Map
 * takes 80 to 100 bytes an id. A row stays until it is removed and may then be another's.
 *
 * Rows are found by open addressing: the slot of an id is where its hash points to, or the next free one behind it. The slots
 * are in parts, and each grows alone: so growing takes no second table, and a millisecond or two at a time.
 */
export class IdRows {
  readonly words: WordRows;
  readonly #slots = Array.from({ length: PARTS }, () => new Int32Array(FIRST_SLOTS));
  readonly #used = new Int32Array(PARTS);
  /** Rows that are or were in use. */
  #end = 0;
  readonly #freeRows: number[] = [];

  /** @param width the words of a row, the two of the id included. */
  constructor(width: number) {
    this.words = new WordRows(width);
  }

  get size(): number {
    return this.#end - this.#freeRows.length;
  }

  /** The row of an id; -1 where it has none. */
  find(low: number, high: number): number {
    const slots = this.#partOf(low, high);
    return (slots[this.#slotOf(slots, low, high)] as number) - 1;
  }

  /** A row for an id that has none, with whatever words another has left behind. */
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

  /** A row that `find` does not know. */
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

  /** A row that has left keeps its slot until then; so the same number may be enough. */
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
    // Given back at once, and not when a collection finds it.
    before.buffer.transfer(0);
  }

  #partOf(low: number, high: number): Int32Array {
    return this.#slots[partOf(hashOf(low, high))] as Int32Array;
  }

  /** The slot of an id, or the free one where it would be. There is always a free one. */
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

/** All bits of the result depend on all of both words, so that neighbours lie far apart. */
function hashOf(low: number, high: number): number {
  let mixed = low ^ Math.imul(high, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
