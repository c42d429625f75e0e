import { isUtf8 } from 'node:buffer';
import { createRecordReader, type ReadableValue, type RecordReader } from '../avro/record-reader.ts';
import { readWireValue } from '../avro/wire-format.ts';
import type { CommittedRecord } from '../kafka/record.ts';

/** A record of any of our topics, for people. */
export interface ReadableTopicRecord {
  readonly topic: string;
  readonly partition: number;
  /** In decimal. */
  readonly offset: string;
  /** ISO 8601: when the broker took it. */
  readonly timestamp: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Decimals and longs are exact text; null for a tombstone. */
  readonly value: ReadableValue;
}

/** Turns records into readable ones; the schemas come from the registry, each asked for once. */
export interface ReadableRecords {
  /** @throws ConnectorError RECORD_UNREADABLE, and what the registry throws. */
  read(record: CommittedRecord): Promise<ReadableTopicRecord>;
}

const AVRO_BEGINS = 0;

/**
 * @param schemaText gives the schema of an id, from the registry
 * @param texts topics whose values are text as it is: parsing it could change its numbers. Values there in another
 *   form, as dead letters may be, are given in Latin-1.
 */
export function createReadableRecords(
  schemaText: (id: number) => Promise<string>,
  texts: ReadonlySet<string>,
): ReadableRecords {
  const readers = new Map<number, RecordReader>();
  const isText = (topic: string, value: Buffer) => texts.has(topic) || value[0] !== AVRO_BEGINS;

  async function readAvro(value: Buffer): Promise<ReadableValue> {
    const { schemaId } = readWireValue(value);
    let reader = readers.get(schemaId);
    if (reader === undefined) {
      reader = createRecordReader({ schemas: new Map([[schemaId, await schemaText(schemaId)]]) });
      readers.set(schemaId, reader);
    }
    return reader.read(value);
  }

  return {
    async read({ topic, partition, offset, timestampMs, key, headers, value }) {
      return {
        topic,
        partition,
        offset: String(offset),
        timestamp: new Date(timestampMs).toISOString(),
        key: key === null ? null : key.toString(),
        headers,
        value: value === null ? null : isText(topic, value) ? textOf(value) : await readAvro(value),
      };
    },
  };
}

function textOf(value: Buffer): string {
  return value.toString(isUtf8(value) ? 'utf8' : 'latin1');
}
