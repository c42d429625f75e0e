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
  /** Null for a value that is taken for another content, whatever it holds. */
  readonly digestOf: (value: Buffer) => bigint | null;
  readonly lookBackMs: number;
  readonly wallMs: number;
  readonly signal: AbortSignal;
}): Promise<WindowDigests> {
  const { reader, topic, partition, digestOf, signal } = options;
  const sinceMs = options.wallMs - options.lookBackMs - CLOCKS_DIFFER_MS;
  const newest = new Map<string, Map<string, bigint>>();
  await reader.readToEnd({
    topic,
    partitions: [partition],
    sinceMs,
    onRecord({ key, value, timestampMs }) {
      if (key === null || value === null || timestampMs < sinceMs) return;
      const name = key.toString('utf8');
      const id = name.slice(0, Math.max(0, name.indexOf('/')));
      const digest = digestOf(value);
      const windows = newest.get(id) ?? new Map<string, bigint>();
      newest.set(id, windows);
      if (digest === null) windows.delete(name);
      else windows.set(name, digest);
    },
    signal,
  });
  const digests = new WindowDigests();
  for (const [id, windows] of newest) {
    newest.delete(id);
    digests.put(id, [...windows.values()]);
  }
  return digests;
}
