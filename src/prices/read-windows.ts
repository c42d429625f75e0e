import { ConnectorError } from '../errors.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { Events } from '../observe/events.ts';
import type { DecodedPrice } from '../records/decoding/priced.ts';
import { createPriceDigest } from '../records/decoding/priced.ts';
import type { Clock } from '../support/clock.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { EnabledKind } from './enabled-kinds.ts';

/** Beyond this an instrument's windows are not remembered, and written again: 8 bytes each. */
const MAXIMUM_WINDOWS = 4_000_000;

/** Digests of window and content in the look-back, by instrument: unchanged windows are not written again. */
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

/** Reads the look-back from the partition of a series' topic with the instruments' number. Exported for tests. */
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

/** Up to when the windows of each series were answered before a session, by the provider's clock. */
export interface AnsweredSeries {
  readonly committed: ReadonlyMap<PriceKind, number>;
  /** The earliest moment that a product has from the session before: what fails alone is behind the mark. */
  readonly carried: ReadonlyMap<PriceKind, number>;
}

export interface KnownSeries {
  readonly windows: ReadonlyMap<PriceKind, WindowDigests>;
  readonly answeredMs: ReadonlyMap<PriceKind, number>;
}

/** At least one of the last 100 offsets is a record: the others are marks of transactions. */
const NEWEST = 100;

/**
 * @returns a function that reads what the topics of series hold for the instruments of a partition. Where the group has lost
 *   the committed mark of a series, the newest record says that the processor ran then.
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
      // The others of the partition were answered within the interval before.
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
