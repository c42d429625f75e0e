import { offsetKey, offsetPartition, type SourceOffset } from '../../../src/kafka/offset-store.ts';
import { fenceSource } from '../ledgers/at-rest.ts';
import { notificationsOn, PARTITIONS } from '../ledgers/universe-on-topics.ts';
import type { Installation } from './installation.ts';

export type StreamAtRest = Awaited<ReturnType<typeof streamAtRest>>;

/** A source that follows one stream, as a test sees it on Kafka once nothing writes any more. */
export async function streamAtRest(
  { kafka, prefix, read }: Pick<Installation, 'kafka' | 'prefix' | 'read'>,
  source: { readonly name: string; readonly type: 'events' | 'pre-trade-checks'; readonly topic: string },
) {
  const key = offsetKey(source.name, source.type);
  await fenceSource(kafka, prefix, key);
  const records = await read(source.topic);
  const offsets = (await read('offsets')).filter(
    (record) => record.partition === offsetPartition(key) && String(record.key) === key,
  );
  return {
    /** By partition, in order. */
    records: PARTITIONS.map((wanted) => records.filter(({ partition }) => partition === wanted)),
    deadLetters: await read('dead-letters'),
    notifications: await notificationsOn(kafka, prefix),
    offsets: offsets.map(({ value }) => JSON.parse(String(value)) as SourceOffset),
  };
}
