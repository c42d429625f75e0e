/** A request is rarely larger; a larger buffer is made for it alone. */
const LARGEST_KEPT_BYTES = 8 * 1024 * 1024;
const SMALLEST_BYTES = 64 * 1024;
const MOST_KEPT = 2;

/**
 * Buffers that are used again, since V8 counts allocations: a page's worth of new buffers costs a full collection every
 * page or two. After a failure the taker keeps its buffer, because a late write could still read it.
 */
export class BufferPool {
  readonly #kept: Buffer[] = [];

  /** A buffer with at least that room and with any content. */
  take(bytes: number): Buffer {
    const index = this.#kept.findIndex(({ length }) => length >= bytes);
    const [kept] = index < 0 ? [] : this.#kept.splice(index, 1);
    return kept ?? Buffer.allocUnsafeSlow(roundUp(bytes));
  }

  /** The caller must not read or write the buffer from now on. */
  giveBack(buffer: Buffer): void {
    if (buffer.length > LARGEST_KEPT_BYTES) return;
    this.#kept.push(buffer);
    if (this.#kept.length <= MOST_KEPT) return;
    this.#kept.sort((a, b) => b.length - a.length).length = MOST_KEPT;
  }
}

/** To a power of two, so that requests of about the same size fit into each other's buffers. */
function roundUp(bytes: number): number {
  let size = SMALLEST_BYTES;
  while (size < bytes) size *= 2;
  return size > LARGEST_KEPT_BYTES ? bytes : size;
}
