import { createHash } from 'node:crypto';
import type { DecodedFailure } from '../../decoding/decoded-list.ts';
import type { LogReader } from '../../kafka/log-reader.ts';
import type { TargetTopic } from '../../kafka/target-topic.ts';

/** More dead rows than this are dead letters again at the next walk. */
const MOST_KNOWN = 65_536;

/**
 * The rows of the list that are dead letters already, by what they hold: a row that does not map is there at every walk,
 * and is one dead letter for each content, not for each walk nor for each restart.
 */
export class KnownDeadRows {
  /** The first eight bytes of a SHA-256, the one that was met last at the end. */
  readonly #digests = new Set<bigint>();

  isKnown(row: Pick<DecodedFailure, 'key' | 'raw'>): boolean {
    return this.#digests.has(digestOf(row.key, contentOf(row.raw)));
  }

  /** To be called once the dead letters are committed. */
  remember(rows: readonly Pick<DecodedFailure, 'key' | 'raw'>[]): void {
    for (const { key, raw } of rows) this.add(key, contentOf(raw));
  }

  /** `sha256`: of the whole row, in hexadecimal digits, as the header of its dead letter has it. */
  add(key: string | null, sha256: string): void {
    const digest = digestOf(key, sha256);
    this.#digests.delete(digest);
    this.#digests.add(digest);
    const [oldest] = this.#digests;
    if (this.#digests.size > MOST_KNOWN && oldest !== undefined) this.#digests.delete(oldest);
  }
}

interface DeadLettersOptions {
  readonly reader: LogReader;
  readonly deadLetters: TargetTopic;
  readonly source: string;
  /** The topic that the rows were to become records of: dead letters of events are others. */
  readonly targetTopic: string;
  readonly signal: AbortSignal;
}

/**
 * Remembers what is on the topic of dead letters already, so that a restart writes none of it again. What another
 * writer's open transaction hides for the moment is a dead letter twice, which loses nothing.
 *
 * @throws what the reader throws.
 */
export async function readKnownDeadRows(known: KnownDeadRows, options: DeadLettersOptions): Promise<void> {
  const { reader, deadLetters, source, targetTopic, signal } = options;
  await reader.readToEnd({
    topic: deadLetters.name,
    partitions: Array.from({ length: deadLetters.partitions }, (_, partition) => partition),
    onRecord({ key, headers }) {
      const sha256 = headers['spc-sha256'];
      if (sha256 === undefined || headers['spc-source'] !== source) return;
      if (headers['__connect.errors.topic'] !== targetTopic) return;
      known.add(key === null ? null : key.toString('utf8'), sha256);
    },
    signal,
  });
}

function digestOf(key: string | null, sha256: string): bigint {
  return createHash('sha256').update(`${key}\n`).update(sha256).digest().readBigUInt64BE(0);
}

function contentOf(raw: Buffer): string {
  return createHash('sha256').update(raw).digest('hex');
}
