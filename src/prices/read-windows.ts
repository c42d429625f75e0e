import { ConnectorError } from '../errors.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { Events } from '../observe/events.ts';
import { createPriceDigest, type DecodedPrice } from '../records/decoding/priced.ts';
import type { Clock } from '../support/clock.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { EnabledKind } from './enabled-kinds.ts';

/** At most this many digests are stored, 8 bytes each. A window without a stored digest is written again. */
const MAXIMUM_WINDOWS = 4_000_000;

/** Digests of each instrument's windows in the look-back, so that unchanged windows are not written again. */
export class WindowDigests {
  readonly #windows = new Map<string, BigUint64Array>();
  #size = 0;

  /** Replaces the stored digests of an instrument. If `isPart` is true, adds to the stored digests instead. */
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

/** Reading begins this long before the oldest window starts, because the clocks of broker and provider may differ. */
const CLOCKS_DIFFER_MS = 24 * 3_600_000;

/** Reads the digests of a series' windows that start at `fromMs` or later, in one partition. Exported for tests. */
export async function readWindows(options: {
  readonly reader: LogReader;
  readonly topic: string;
  readonly partition: number;
  /** Null for another schema's value: its window is written again. ConnectorError for a value that is not a price. */
  readonly digestOf: (value: Buffer) => bigint | null;
  /** The part of a record key between the instrument's id and the start of the window. */
  readonly series: string;
  /** The start of the oldest window that the provider may send again. */
  readonly fromMs: number;
  /** Called if another program wrote values that are not prices. These values are ignored. */
  readonly onUnreadable: (met: { readonly records: number; readonly firstOffset: bigint }) => void;
  readonly signal: AbortSignal;
}): Promise<WindowDigests> {
  const { reader, topic, partition, digestOf, series, fromMs, onUnreadable, signal } = options;
  const sinceMs = fromMs - CLOCKS_DIFFER_MS;
  const newest = new Map<string, Map<string, bigint>>();
  const unreadable = { records: 0, firstOffset: 0n };
  /** Null also for a value that is not a price. Then its window is written again, and replaces the value. */
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
      // Skips windows before `fromMs` to save memory: for 100,000 instruments, the windows of a day take a gigabyte.
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
    toHighWatermark: true,
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

/** For each series: the moment up to which its windows are answered, in ms since 1970 by the provider's clock. */
export interface AnsweredSeries {
  readonly committed: ReadonlyMap<PriceKind, number>;
  /** From the memory of the previous session, which has a moment for each product: the earliest of these moments. */
  readonly carried: ReadonlyMap<PriceKind, number>;
}

export interface KnownSeries {
  readonly windows: ReadonlyMap<PriceKind, WindowDigests>;
  readonly answeredMs: ReadonlyMap<PriceKind, number>;
}

/** Only this many offsets are read to find the newest record. Some offsets are transaction markers, not records. */
const NEWEST = 100;

/**
 * @returns a function that reads the records of all series for one partition of instruments. If the consumer group has
 *   no committed moment for a series, the function derives the moment from the time of the newest record.
 */
export function createSeriesReader(options: {
  readonly kinds: readonly EnabledKind[];
  readonly topicOf: (kind: PriceKind) => { readonly name: string };
  readonly schemaId: (kind: PriceKind, signal: AbortSignal) => Promise<number>;
  readonly reader: LogReader;
  readonly clock: Clock;
  readonly events: Pick<Events, 'recordsUnreadable'>;
}) {
  const { kinds, topicOf, schemaId, reader, clock, events } = options;
  async function newestMs(topic: string, partition: number, signal: AbortSignal): Promise<number | null> {
    let newest: number | null = null;
    const onRecord = ({ timestampMs }: { readonly timestampMs: number }) => {
      newest = Math.max(newest ?? timestampMs, timestampMs);
    };
    await reader.readToEnd({ topic, partitions: [partition], newest: NEWEST, onRecord, signal });
    return newest;
  }

  return async (
    partition: number,
    { committed, carried }: AnsweredSeries,
    signal: AbortSignal,
  ): Promise<KnownSeries> => {
    const windows = new Map<PriceKind, WindowDigests>();
    const answeredMs = new Map<PriceKind, number>();
    for (const { kind, series, inRecords, windows: ofSeries, refreshIntervalMs } of kinds) {
      if (series === null || ofSeries === null) continue;
      const digestOf = createPriceDigest(inRecords.kind, await schemaId(kind, signal));
      const topic = topicOf(kind).name;
      const wallMs = clock.wallMs();
      // The newest record is of one instrument. All others were answered at most one refresh interval earlier.
      const shown = committed.has(kind) ? null : await newestMs(topic, partition, signal);
      const untilMs = committed.get(kind) ?? (shown === null ? wallMs : shown - refreshIntervalMs);
      answeredMs.set(kind, untilMs);
      const { fromMs } = ofSeries.range(wallMs, Math.min(untilMs, carried.get(kind) ?? untilMs));
      const onUnreadable = ({ records, firstOffset }: { readonly records: number; readonly firstOffset: bigint }) =>
        events.recordsUnreadable({ topic, partition, reason: 'price', records, firstOffset: String(firstOffset) });
      windows.set(
        kind,
        await readWindows({ reader, partition, topic, series, digestOf, fromMs, onUnreadable, signal }),
      );
    }
    return { windows, answeredMs };
  };
}
