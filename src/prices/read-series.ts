import type { LogReader } from '../kafka/log-reader.ts';
import type { Events } from '../observe/events.ts';
import { createPriceDigest } from '../records/decoding/priced.ts';
import type { Clock } from '../support/clock.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { EnabledKind } from './enabled-kinds.ts';
import { readWindows, type WindowDigests } from './read-windows.ts';

/** Up to when the windows of each series were answered before a session, by the provider's clock. */
export interface AnsweredSeries {
  /** The committed low-water marks. */
  readonly committed: ReadonlyMap<PriceKind, number>;
  /** The earliest moment that a product has from the session before: what fails alone is behind the mark. */
  readonly carried: ReadonlyMap<PriceKind, number>;
}

export interface KnownSeries {
  readonly windows: ReadonlyMap<PriceKind, WindowDigests>;
  /** Up to when the windows of each are answered, by the provider's clock. */
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
    for (const { kind, plan, refreshIntervalMs } of kinds) {
      const { series, inRecords } = plan;
      if (series === null || plan.windows === null) continue;
      const digestOf = createPriceDigest(inRecords.kind, await schemaId(kind, signal));
      const topic = topicOf(kind).name;
      const wallMs = clock.wallMs();
      // The others of the partition were answered within the interval before.
      const shown = committed.has(kind) ? null : await newestMs(topic, partition, signal);
      const untilMs = committed.get(kind) ?? (shown === null ? wallMs : shown - refreshIntervalMs);
      answeredMs.set(kind, untilMs);
      const { fromMs } = plan.windows.range(wallMs, Math.min(untilMs, carried.get(kind) ?? untilMs));
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
