import { createHash } from 'node:crypto';
import { type DeadLetterTail, readDeadLetterTail } from '../../kafka/dead-letter.ts';
import type { DecodedFailure } from '../../records/decoding/decoded-list.ts';

/** If more rows than this cannot be mapped, the oldest rows become dead letters again at the next walk. */
const MOST_KNOWN = 65_536;

/** Remembers rows that are dead letters, so that an unchanged row becomes a dead letter only once. */
export class KnownDeadRows {
  /** The first 8 bytes of a SHA-256 of each key and row; the newest row is at the end. */
  readonly #digests = new Set<bigint>();

  isKnown(row: Pick<DecodedFailure, 'key' | 'raw'>): boolean {
    return this.#digests.has(digestOf(row.key, contentOf(row.raw)));
  }

  remember(rows: readonly Pick<DecodedFailure, 'key' | 'raw'>[]): void {
    for (const { key, raw } of rows) this.add(key, contentOf(raw));
  }

  /** `sha256`: the hash of the whole row, in hexadecimal digits. */
  add(key: string | null, sha256: string): void {
    const digest = digestOf(key, sha256);
    this.#digests.delete(digest);
    this.#digests.add(digest);
    const [oldest] = this.#digests;
    if (this.#digests.size > MOST_KNOWN && oldest !== undefined) this.#digests.delete(oldest);
  }
}

/** Remembers the newest dead letters whose records were meant for `targetTopic`. @throws the signal's reason. */
export async function readKnownDeadRows(
  known: KnownDeadRows,
  { targetTopic, ...tail }: Omit<DeadLetterTail, 'onLetter'> & { readonly targetTopic: string },
): Promise<void> {
  await readDeadLetterTail({
    ...tail,
    onLetter({ key, headers }) {
      const sha256 = headers['spc-sha256'];
      if (sha256 !== undefined && headers['__connect.errors.topic'] === targetTopic) known.add(key, sha256);
    },
  });
}

function digestOf(key: string | null, sha256: string): bigint {
  return createHash('sha256').update(`${key}\n`).update(sha256).digest().readBigUInt64BE(0);
}

function contentOf(raw: Buffer): string {
  return createHash('sha256').update(raw).digest('hex');
}
