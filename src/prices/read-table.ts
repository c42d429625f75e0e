import { ConnectorError } from '../errors.ts';
import type { LogReader } from '../kafka/log-reader.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { Events, UnreadableReason } from '../observe/events.ts';
import { MissingSchema, readWithSchemas } from '../records/avro/current-digest.ts';
import type { PricedInstrumentReader } from '../records/avro/priced-instrument-reader.ts';
import { isIntegerKey } from '../records/json/row-key.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { Pulse } from '../support/pulse.ts';
import type { InstrumentNews } from './core/instrument.ts';
import { InstrumentKeys } from './core/instrument-keys.ts';

export interface ReadInstrument {
  /** The instrument's id; a unique name if the record has no id. */
  readonly id: string;
  readonly news: InstrumentNews;
}

/** Reads an instrument record, or returns the id of a schema to load first. An unreadable record causes no error. */
export function readInstrument(
  record: Pick<CommittedRecord, 'key' | 'value' | 'offset'>,
  instrumentReader: PricedInstrumentReader,
): ReadInstrument | { readonly unknownSchemaId: number } {
  const key = record.key === null ? null : record.key.toString('utf8');
  const { value } = record;
  if (key === null || !isIntegerKey(key)) {
    const reason = 'the key is not the id of an instrument';
    const news: InstrumentNews = { kind: 'unreadable', key, value: value ?? Buffer.alloc(0), reason };
    return { id: `at ${record.offset}`, news };
  }
  if (value === null) return { id: key, news: { kind: 'gone' } };
  try {
    const read = instrumentReader.read(value);
    if ('unknownSchemaId' in read) return read;
    const { isin, ...terms } = read;
    return { id: key, news: { kind: 'live', isin, terms } };
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const { missingSchemaId } = error.fields;
    const news: InstrumentNews = { kind: 'unreadable', key, value, reason: error.message };
    return { id: key, news: typeof missingSchemaId === 'number' ? { ...news, missingSchemaId } : news };
  }
}

/** The waits before a missing schema is requested again. A replaced or restored registry may get it minutes later. */
const ASK_AGAIN: BackOff = { initialMs: 30_000, maximumMs: 5 * 60_000 };
/** Records of other programs may name any number of schemas; at most this many schemas are requested again. */
const MAXIMUM_SCHEMAS = 100;

/** The unreadable records of one partition of instruments. */
export class UnreadableRecords {
  /** Instruments whose newest record is unreadable: they have no price until a readable record comes. */
  readonly #ids = new Set<string>();
  readonly #missingSchemas = new Set<number>();
  readonly #unreported = new Map<UnreadableReason, { records: number; readonly firstOffset: bigint }>();
  readonly #schemaMissing = new Pulse();

  get instruments(): number {
    return this.#ids.size;
  }

  read({ id, news }: ReadInstrument, offset: bigint): void {
    if (news.kind !== 'unreadable') {
      this.#ids.delete(id);
      return;
    }
    // `id` differs from the key if the key is not the id of an instrument. `#ids` counts only instruments.
    if (id === news.key) this.#ids.add(id);
    const { missingSchemaId = null } = news;
    if (missingSchemaId !== null && this.#missingSchemas.size < MAXIMUM_SCHEMAS) {
      this.#missingSchemas.add(missingSchemaId);
      this.#schemaMissing.notify();
    }
    const reason = missingSchemaId === null ? 'instrument' : 'schema';
    const met = this.#unreported.get(reason);
    if (met === undefined) this.#unreported.set(reason, { records: 1, firstOffset: offset });
    else met.records += 1;
  }

  report(partition: TopicPartition, events: Pick<Events, 'recordsUnreadable'>): void {
    for (const [reason, { records, firstOffset }] of this.#unreported) {
      events.recordsUnreadable({ ...partition, reason, records, firstOffset: String(firstOffset) });
    }
    this.#unreported.clear();
  }

  /** Resolves with the id of a missing schema when the registry has this schema. After an error, `load` runs again. */
  async schemaFound(options: {
    readonly load: (schemaId: number, signal: AbortSignal) => Promise<boolean>;
    readonly clock: Clock;
    readonly random: Random;
    readonly signal: AbortSignal;
  }): Promise<number> {
    const { load, clock, random, signal } = options;
    while (this.#missingSchemas.size === 0) await this.#schemaMissing.next(signal);
    for (let rounds = 1; ; rounds++) {
      await clock.sleep(backOffMs(rounds, ASK_AGAIN, random), signal);
      for (const schemaId of this.#missingSchemas) {
        if (await load(schemaId, signal).catch(() => false)) return schemaId;
        signal.throwIfAborted();
      }
    }
  }
}

export interface PartitionTable {
  /** All live instruments with an isin, from the records below the committed offset. */
  readonly instruments: InstrumentKeys;
  readonly again: readonly CommittedRecord[];
  readonly unreadable: UnreadableRecords;
}

/**
 * Reads the partition from its beginning. `offset`: the committed consumer offset. `again`: the records from `offset`
 * to `until` (exclusive), which have no committed result.
 */
export function readTable(options: {
  readonly reader: LogReader;
  readonly partition: TopicPartition;
  readonly instrumentReader: PricedInstrumentReader;
  readonly offset: bigint;
  readonly until: bigint;
  readonly signal: AbortSignal;
}): Promise<PartitionTable> {
  const { reader, partition, instrumentReader, offset, until, signal } = options;
  const readLoaded = async () => {
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
  };
  return readWithSchemas(readLoaded, (schemaId) => instrumentReader.load(schemaId, signal));
}
