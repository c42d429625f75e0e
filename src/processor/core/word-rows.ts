const BLOCK_BITS = 10;
const BLOCK_ROWS = 1 << BLOCK_BITS;

/**
 * Rows of 32-bit words, numbered from 0. They come in blocks as they are written to, so growing copies nothing. What was
 * never written is 0.
 */
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
