import type { PricedInstrumentReader } from '../avro/priced-instrument-reader.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import { InstrumentKeys } from './core/instrument-keys.ts';
import { readInstrument } from './instrument-news.ts';
import { UnreadableRecords } from './unreadable-records.ts';

/** More schemas than any topic of instruments has. */
const MAXIMUM_SCHEMAS = 1_000;

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
export async function readTable(options: {
  readonly reader: LogReader;
  readonly partition: TopicPartition;
  readonly instrumentReader: PricedInstrumentReader;
  readonly offset: bigint;
  readonly until: bigint;
  readonly signal: AbortSignal;
}): Promise<PartitionTable> {
  for (let schemas = 0; schemas < MAXIMUM_SCHEMAS; schemas++) {
    const found = await tryToRead(options);
    if (!('unknownSchemaId' in found)) return found;
    await options.instrumentReader.load(found.unknownSchemaId, options.signal);
  }
  throw new Error(`The partition names more than ${MAXIMUM_SCHEMAS} schemas.`);
}

/** Ends at the first record whose schema is not loaded: loading takes an answer, and records come without pause. */
async function tryToRead({
  reader,
  partition,
  instrumentReader,
  offset,
  until,
  signal,
}: Parameters<typeof readTable>[0]) {
  const instruments = new InstrumentKeys();
  const again: CommittedRecord[] = [];
  const unreadable = new UnreadableRecords();
  if (offset === 0n && until === 0n) return { instruments, again, unreadable };
  try {
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
        if ('unknownSchemaId' in read) throw new UnknownSchema(read.unknownSchemaId);
        unreadable.read(read, record.offset);
        const { id, news } = read;
        if (news.kind !== 'live' || news.isin === null) instruments.delete(id);
        else instruments.set(id, news.isin, news.terms);
      },
      signal,
    });
    return { instruments, again, unreadable };
  } catch (error) {
    if (error instanceof UnknownSchema) return { unknownSchemaId: error.schemaId };
    throw error;
  }
}

class UnknownSchema extends Error {
  readonly schemaId: number;

  constructor(schemaId: number) {
    super(`schema id ${schemaId} is not loaded`);
    this.schemaId = schemaId;
  }
}
