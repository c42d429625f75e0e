const SLOTS = 4_096;
const LONGEST_BYTES = 80;

/**
 * Strings that were read before, by their bytes: the keys and code words of a page repeat in every row, and taking
 * them from here costs a comparison instead of a new string. One slot per hash, the newest wins, so it cannot grow.
 */
export class StringCache {
  readonly #slots: string[] = new Array<string>(SLOTS).fill('');

  /** The string of the ASCII bytes from `start` to `end`. `hash` may be any number that depends on these bytes alone. */
  ascii(bytes: Buffer, start: number, end: number, hash: number): string {
    const length = end - start;
    if (length > LONGEST_BYTES) return bytes.toString('latin1', start, end);
    const slot = (hash ^ (hash >>> 12)) & (SLOTS - 1);
    const known = this.#slots[slot] ?? '';
    if (known.length === length && matches(known, bytes, start)) return known;
    const text = bytes.toString('latin1', start, end);
    this.#slots[slot] = text;
    return text;
  }
}

function matches(text: string, bytes: Buffer, start: number): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false;
  }
  return true;
}
