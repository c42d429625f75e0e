import { ConnectorError } from '../errors.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import { WindowDigests } from './window-digests.ts';

/** A window is written after it has opened, by the broker's clock, which may differ from ours. */
const CLOCKS_DIFFER_MS = 24 * 3_600_000;

/**
 * What a partition of a series' topic holds of the look-back. It is the partition of the same instruments' records, since
 * the topics have as many partitions and each series lies on that of its instrument.
 */
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
