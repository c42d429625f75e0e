import type { DecodedPrice } from '../decoding/priced.ts';

/** Beyond this an instrument's windows are not remembered, and written again: 8 bytes each. */
const MAXIMUM_WINDOWS = 4_000_000;

/**
 * What the topic of a series holds of each instrument's look-back, as digests: what an answer repeats is not written
 * again. A digest covers window and content, so a set of them is enough.
 */
export class WindowDigests {
  readonly #windows = new Map<string, BigUint64Array>();
  #size = 0;

  /** Replaces what is known of an instrument by the windows of its newest answer. */
  put(id: string, found: readonly (bigint | null)[]): void {
    const digests = found.filter((digest) => digest !== null);
    this.#size -= this.#windows.get(id)?.length ?? 0;
    this.#windows.delete(id);
    if (digests.length === 0 || this.#size + digests.length > MAXIMUM_WINDOWS) return;
    this.#size += digests.length;
    this.#windows.set(id, BigUint64Array.from(digests));
  }

  /** The records that the topic does not hold as they are. */
  changed(id: string, records: readonly DecodedPrice[]): readonly DecodedPrice[] {
    const known = new Set(this.#windows.get(id));
    return records.filter(({ digest }) => digest === null || !known.has(digest));
  }

  delete(id: string): void {
    this.put(id, []);
  }
}
