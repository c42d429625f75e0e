import { createHash } from 'node:crypto';
import type { DecodedFailure } from '../../decoding/decoded-list.ts';

/** More dead rows than this are dead letters again at the next walk. */
const MOST_KNOWN = 65_536;

/**
 * The rows of the list that are dead letters already, by what they hold: a row that does not map is there at every walk,
 * and is one dead letter for each content, not for each walk. Known as long as the process lives.
 */
export class KnownDeadRows {
  /** The first eight bytes of a SHA-256, the one that was met last at the end. */
  readonly #digests = new Set<bigint>();

  isKnown(row: Pick<DecodedFailure, 'key' | 'raw'>): boolean {
    return this.#digests.has(digestOf(row));
  }

  /** To be called once the dead letters are committed. */
  remember(rows: readonly Pick<DecodedFailure, 'key' | 'raw'>[]): void {
    for (const row of rows) {
      const digest = digestOf(row);
      this.#digests.delete(digest);
      this.#digests.add(digest);
      const [oldest] = this.#digests;
      if (this.#digests.size > MOST_KNOWN && oldest !== undefined) this.#digests.delete(oldest);
    }
  }
}

function digestOf({ key, raw }: Pick<DecodedFailure, 'key' | 'raw'>): bigint {
  return createHash('sha256').update(`${key}\n`).update(raw).digest().readBigUInt64BE(0);
}
