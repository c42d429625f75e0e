import { ConnectorError } from '../errors.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { DecodedPrice } from '../records/decoding/priced.ts';

/** Beyond this an instrument's windows are not remembered, and written again: 8 bytes each. */
const MAXIMUM_WINDOWS = 4_000_000;

/**
 * Digests of the look-back on the topic of a series, by instrument: unchanged windows are not written again. A digest
 * covers window and content.
 */
export class WindowDigests {
  readonly #windows = new Map<string, BigUint64Array>();
  #size = 0;

  /** Replaces the windows of an instrument; after a part of an answer it keeps both. */
  put(id: string, found: readonly (bigint | null)[], isPart = false): void {
    const answered = found.filter((digest) => digest !== null);
    const digests = isPart ? [...new Set([...answered, ...(this.#windows.get(id) ?? [])])] : answered;
    this.#size -= this.#windows.get(id)?.length ?? 0;
    this.#windows.delete(id);
    if (digests.length === 0 || this.#size + digests.length > MAXIMUM_WINDOWS) return;
    this.#size += digests.length;
    this.#windows.set(id, BigUint64Array.from(digests));
  }

  changed(id: string, records: readonly DecodedPrice[]): readonly DecodedPrice[] {
    const known = new Set(this.#windows.get(id));
    return records.filter(({ digest }) => digest === null || !known.has(digest));
  }

  delete(id: string): void {
    this.put(id, []);
  }
}

/** A window is written after it has opened, by the broker's clock, which may differ from ours. */
const CLOCKS_DIFFER_MS = 24 * 3_600_000;

/** Reads the look-back from a partition of a series' topic: the one with the same number as that of the instruments. */
export async function readWindows(options: {
  readonly reader: LogReader;
  readonly topic: string;
  readonly partition: number;
  /** Null for a value that is taken for another content, whatever it holds; throws ConnectorError for what is no price. */
  readonly digestOf: (value: Buffer) => bigint | null;
  /** The middle of the keys of its records; others on the topic are of other series. */
  readonly series: string;
  /** When the oldest window opened that may be answered again. */
  readonly fromMs: number;
  /** Called for records that are not of a series: another program wrote them, and they are ignored. */
  readonly onUnreadable: (met: { readonly records: number; readonly firstOffset: bigint }) => void;
  readonly signal: AbortSignal;
}): Promise<WindowDigests> {
  const { reader, topic, partition, digestOf, series, fromMs, onUnreadable, signal } = options;
  const sinceMs = fromMs - CLOCKS_DIFFER_MS;
  const newest = new Map<string, Map<string, bigint>>();
  const unreadable = { records: 0, firstOffset: 0n };
  /** Null for a value that is no price, too: its window is written once more, over it. */
  const readDigest = (value: Buffer, offset: bigint): bigint | null => {
    try {
      return digestOf(value);
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      if (unreadable.records === 0) unreadable.firstOffset = offset;
      unreadable.records += 1;
      return null;
    }
  };
  await reader.readToEnd({
    topic,
    partitions: [partition],
    sinceMs,
    onRecord({ key, value, offset, timestampMs }) {
      if (key === null || value === null || timestampMs < sinceMs) return;
      const name = key.toString('utf8');
      // Of a day's windows most are over: 100,000 instruments would need a gigabyte for windows that are no longer answered.
      const [first, last] = [name.indexOf('/'), name.lastIndexOf('/')];
      if (Date.parse(name.slice(last + 1)) < fromMs) return;
      if (first >= 0 && name.slice(first + 1, last) !== series) return;
      const id = name.slice(0, Math.max(0, first));
      const digest = readDigest(value, offset);
      const windows = newest.get(id) ?? new Map<string, bigint>();
      newest.set(id, windows);
      if (digest === null) windows.delete(name);
      else windows.set(name, digest);
    },
    behindOpen: true,
    signal,
  });
  if (unreadable.records > 0) onUnreadable(unreadable);
  const digests = new WindowDigests();
  for (const [id, windows] of newest) {
    newest.delete(id);
    digests.put(id, [...windows.values()]);
  }
  return digests;
}
