import type { LedgerFilter } from '../../../src/dev/simulator/ledger/ledger.ts';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { SourceOffset } from '../../../src/kafka/offset-store.ts';
import type { ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import { readCommitted } from '../kafka/kafka-real.ts';
import { SOURCE_KEY, SOURCE_PARTITION } from './at-rest.ts';
import { readable } from './readable.ts';
import type { UniverseLog } from './universe-log.ts';
import { contents, type LedgerEvent, ledgerEvents, ledgerUniverse, placedContents } from './universe-reading.ts';

export const PARTITIONS = [0, 1, 2, 3, 4, 5];

/** What the topics hold, beside what the provider did, for `universeViolations`. */
export async function universeOnTopics(options: {
  readonly kafka: KafkaCluster;
  readonly prefix: string;
  readonly simulator: Simulator;
  /** The universe before anything happened in it. */
  readonly first: ReadonlyMap<string, string>;
  /** Events that the ledger has forgotten since. */
  readonly before?: readonly LedgerEvent[];
  /** Whether an event must be on the topic. */
  readonly isDue: (event: LedgerEvent) => boolean;
}): Promise<UniverseLog> {
  const { kafka, prefix, simulator, first, before = [], isDue } = options;
  const published = [...before, ...(await ledgerEvents(simulator))];
  const versions = new Map([...first].map(([id, content]) => [id, [content]]));
  for (const { key, instrument } of published) versions.set(key, [...(versions.get(key) ?? []), instrument]);
  return {
    versions,
    universe: await ledgerUniverse(simulator),
    published: published.filter(isDue).map(({ key, event }) => ({ key, content: event })),
    instruments: placedContents(await readCommitted(kafka, `${prefix}.instruments`, PARTITIONS)),
    events: contents(await readCommitted(kafka, `${prefix}.instrument-events`, PARTITIONS)),
  };
}

/** A provider whose ledger shows only what is inside a filter. */
export function filtered(simulator: Simulator, filter: LedgerFilter): Simulator {
  const { ledger } = simulator;
  const narrow = {
    ...ledger,
    instruments: () => ledger.instruments(filter),
    events: () => ledger.events(filter),
  };
  return { ...simulator, ledger: narrow };
}

/** The ids of the tombstones, in the order of their partitions. */
export function tombstoneIds({ instruments }: UniverseLog): string[] {
  return instruments.flatMap(({ key, content }) => (content === null ? [key] : []));
}

/** Everything that was notified, oldest first. */
export async function notificationsOn(kafka: KafkaCluster, prefix: string): Promise<ReadableRecord[]> {
  return readable(await readCommitted(kafka, `${prefix}.notifications`), 'Notification');
}

/** Every offset that the source committed, and when. */
export async function offsetsOn(
  kafka: KafkaCluster,
  prefix: string,
): Promise<{ readonly offset: SourceOffset; readonly atMs: number }[]> {
  const records = await readCommitted(kafka, `${prefix}.offsets`, [SOURCE_PARTITION]);
  return records
    .filter(({ key }) => String(key) === SOURCE_KEY)
    .map(({ value, timestampMs }) => ({ offset: JSON.parse(String(value)), atMs: timestampMs }));
}
