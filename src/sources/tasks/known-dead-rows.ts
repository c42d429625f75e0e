import { createHash } from 'node:crypto';
import { type DeadLetterTail, readDeadLetterTail } from '../../kafka/dead-letter.ts';
import type { DecodedFailure } from '../../records/decoding/decoded-list.ts';
import { isBefore } from '../stream/stream-response.ts';

/** If more rows than this cannot be mapped, the oldest rows become dead letters again at the next walk. */
const MOST_KNOWN = 65_536;

/**
 * Remembers rows that are dead letters, so that an unchanged row becomes a dead letter only once. Also remembers the
 * instruments with an event that is a dead letter: a row may be newer than the last event on the topic.
 */
export class KnownDeadRows {
  /** The first 8 bytes of a SHA-256 of each key and row; the newest row is at the end. */
  readonly #digests = new Set<bigint>();
  /** By the id: the offset of the request whose response had the newest such event. */
  readonly #eventSince = new Map<string, string>();

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
    forgetOldest(this.#digests);
  }

  /** `since`: the offset of the request whose response had the event. */
  addEvent(key: string | null, since: string): void {
    if (key === null || isBefore(since, this.#eventSince.get(key) ?? '')) return;
    this.#eventSince.delete(key);
    this.#eventSince.set(key, since);
    forgetOldest(this.#eventSince);
  }

  /** True if the instrument has an event that is a dead letter and came after the response to `since`. */
  hasEventAfter(since: string | undefined, id: bigint): boolean {
    return isBefore(since, this.#eventSince.get(String(id)) ?? '');
  }
}

function forgetOldest<Key>(known: Set<Key> | Map<Key, unknown>): void {
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
}

/** Remembers the newest dead letters: rows for `targetTopic`, and events for `eventsTopic`. @throws the signal's reason. */
export async function readKnownDeadRows(
  known: KnownDeadRows,
  {
    targetTopic,
    eventsTopic,
    ...tail
  }: Omit<DeadLetterTail, 'onLetter'> & Record<'targetTopic' | 'eventsTopic', string>,
): Promise<void> {
  await readDeadLetterTail({
    ...tail,
    onLetter({ key, headers }) {
      const { 'spc-sha256': sha256, 'spc-since': since, '__connect.errors.topic': topic } = headers;
      if (sha256 !== undefined && topic === targetTopic) known.add(key, sha256);
      if (since !== undefined && topic === eventsTopic) known.addEvent(key, since);
    },
  });
}

function digestOf(key: string | null, sha256: string): bigint {
  return createHash('sha256').update(`${key}\n`).update(sha256).digest().readBigUInt64BE(0);
}

function contentOf(raw: Buffer): string {
  return createHash('sha256').update(raw).digest('hex');
}
