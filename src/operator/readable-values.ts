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
 * @param texts topics whose values are text as it is. Values there in another form, as dead letters may be, are given in
 *   Latin-1.
 * @param json topics whose values are JSON; a text that would not be the same after parsing stays text
 */
export function createReadableRecords(
  schemaText: (id: number) => Promise<string>,
  { texts, json }: { readonly texts: ReadonlySet<string>; readonly json: ReadonlySet<string> },
): ReadableRecords {
  const readers = new Map<number, RecordReader>();
  const isText = (topic: string, value: Buffer) => texts.has(topic) || value[0] !== AVRO_BEGINS;

  async function readValue(topic: string, value: Buffer): Promise<ReadableValue> {
    if (json.has(topic)) return parsed(textOf(value));
    return isText(topic, value) ? textOf(value) : readAvro(value);
  }

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
        value: value === null ? null : await readValue(topic, value),
      };
    },
  };
}

/** What another program wrote may have numbers that parsing would round. */
function parsed(text: string): ReadableValue {
  try {
    const value: ReadableValue = JSON.parse(text);
    return JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}

function textOf(value: Buffer): string {
  return value.toString(isUtf8(value) ? 'utf8' : 'latin1');
}
