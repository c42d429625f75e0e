import { MissingSchema, readWithSchemas } from '../avro/missing-schemas.ts';
import type { PricedInstrumentReader } from '../avro/priced-instrument-reader.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import { InstrumentKeys } from './core/instrument-keys.ts';
import { readInstrument } from './instrument-news.ts';
import { UnreadableRecords } from './unreadable-records.ts';

/** What a partition of an instruments topic holds. */
export interface PartitionTable {
  /** Every instrument that is live and has an isin, by the records below the committed offset. */
  readonly instruments: InstrumentKeys;
  /** The records from there on, up to `until`. */
  readonly again: readonly CommittedRecord[];
  /** Those below the committed offset. */
  readonly unreadable: UnreadableRecords;
}

/**
 * Reads the partition from its beginning: the records below `offset` are answered and make the table; those from there
 * on up to `until`, which were read before and whose results were not committed, are given as they are.
 */
export function readTable(options: {
  readonly reader: LogReader;
  readonly partition: TopicPartition;
  readonly instrumentReader: PricedInstrumentReader;
  readonly offset: bigint;
  readonly until: bigint;
  readonly signal: AbortSignal;
}): Promise<PartitionTable> {
  const { instrumentReader, signal } = options;
  return readWithSchemas(
    () => readLoaded(options),
    (schemaId) => instrumentReader.load(schemaId, signal),
  );
}

async function readLoaded(options: Parameters<typeof readTable>[0]): Promise<PartitionTable> {
  const { reader, partition, instrumentReader, offset, until, signal } = options;
  const instruments = new InstrumentKeys();
  const again: CommittedRecord[] = [];
  const unreadable = new UnreadableRecords();
  if (offset === 0n && until === 0n) return { instruments, again, unreadable };
  await reader.readToEnd({
    topic: partition.topic,
    partitions: [partition.partition],
    onRecord(record) {
      if (record.offset >= until) return;
      if (record.offset >= offset) {
        again.push(record);
        return;
      }
      const read = readInstrument(record, instrumentReader);
      if ('unknownSchemaId' in read) throw new MissingSchema(read.unknownSchemaId);
      unreadable.read(read, record.offset);
      const { id, news } = read;
      if (news.kind !== 'live' || news.isin === null) instruments.delete(id);
      else instruments.set(id, news.isin, news.terms);
    },
    signal,
  });
  return { instruments, again, unreadable };
}
