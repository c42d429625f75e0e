import { offsetKey, offsetPartition, type SourceOffset } from '../../../src/kafka/offset-store.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import type { ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import { fenceSource } from '../ledgers/at-rest.ts';
import { notificationsOn, PARTITIONS } from '../ledgers/universe-on-topics.ts';
import type { Installation } from './installation.ts';

/** A source that follows one stream, as a test sees it on Kafka once nothing writes any more. */
export interface StreamAtRest {
  /** Every record of its topic, by partition, in order. */
  readonly records: readonly (readonly CommittedRecord[])[];
  readonly deadLetters: readonly CommittedRecord[];
  readonly notifications: readonly ReadableRecord[];
  /** Every committed offset. */
  readonly offsets: readonly SourceOffset[];
}

export async function streamAtRest(
  { kafka, prefix, read }: Pick<Installation, 'kafka' | 'prefix' | 'read'>,
  source: { readonly name: string; readonly type: 'events' | 'pre-trade-checks'; readonly topic: string },
): Promise<StreamAtRest> {
  const key = offsetKey(source.name, source.type);
  await fenceSource(kafka, prefix, key);
  const records = await read(source.topic);
  const offsets = (await read('offsets')).filter(
    (record) => record.partition === offsetPartition(key) && String(record.key) === key,
  );
  return {
    records: PARTITIONS.map((wanted) => records.filter(({ partition }) => partition === wanted)),
    deadLetters: await read('dead-letters'),
    notifications: await notificationsOn(kafka, prefix),
    offsets: offsets.map(({ value }) => JSON.parse(String(value)) as SourceOffset),
  };
}
