import { createPriceDigest } from '../decoding/price-digest.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { ProcessorEvents } from '../observability/processor-events.ts';
import type { Clock } from '../support/clock.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { EnabledKind } from './prices/enabled-kinds.ts';
import { readWindows } from './read-windows.ts';
import type { WindowDigests } from './window-digests.ts';

/** @returns a function that reads what the topics of series hold for the instruments of a partition. */
export function createSeriesReader(options: {
  readonly kinds: readonly EnabledKind[];
  readonly topicOf: (kind: PriceKind) => { readonly name: string };
  readonly schemaId: (kind: PriceKind, signal: AbortSignal) => Promise<number>;
  readonly reader: LogReader;
  readonly clock: Clock;
  readonly events: Pick<ProcessorEvents, 'recordsUnreadable'>;
}) {
  const { kinds, topicOf, schemaId, reader, clock, events } = options;
  return async (partition: number, signal: AbortSignal): Promise<ReadonlyMap<PriceKind, WindowDigests>> => {
    const windows = new Map<PriceKind, WindowDigests>();
    for (const { kind, plan } of kinds) {
      const { series, inRecords } = plan;
      if (series === null || plan.windows === null) continue;
      const digestOf = createPriceDigest(inRecords.kind, await schemaId(kind, signal));
      const fromMs = plan.windows.oldestMs(clock.wallMs());
      const topic = topicOf(kind).name;
      const onUnreadable = ({ records, firstOffset }: { readonly records: number; readonly firstOffset: bigint }) =>
        events.recordsUnreadable({ topic, partition, reason: 'price', records, firstOffset: String(firstOffset) });
      windows.set(
        kind,
        await readWindows({ reader, partition, topic, series, digestOf, fromMs, onUnreadable, signal }),
      );
    }
    return windows;
  };
}
