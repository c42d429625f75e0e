import { ConnectorError } from '../../errors.ts';
import type { LogReader } from '../../kafka/log-reader.ts';
import { type CommittedRecord, partitionFor, type TargetTopic } from '../../kafka/record.ts';
import { type CurrentDigests, MissingSchema, readWithSchemas } from '../../records/avro/current-digest.ts';
import { isIntegerKey } from '../../records/json/row-key.ts';
import { ReportedEvents } from '../stream/reported-events.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import { isBefore } from '../stream/stream-response.ts';
import { Census, REMEMBERED_MS } from '../walk/census.ts';

/** If more records than this are foreign (from another writer), the source stops before it has read the whole topic. */
const MOST_FOREIGN = 1_000;

interface CensusOptions {
  readonly reader: LogReader;
  readonly topic: TargetTopic;
  readonly digests: CurrentDigests;
  /** Absent if no walk follows, because only a walk needs the ages of events. */
  readonly eventRecords?: EventRecords;
  readonly signal: AbortSignal;
}

export interface EventRecords {
  readonly eventsEndpoint: string;
  readonly since: string | null;
  readonly end: string | null;
  /** Events that were requested with an earlier offset are from before the source's start or reset. They are not remembered. */
  readonly streamStart: string | null;
  readonly ageMs: (record: Pick<CommittedRecord, 'timestampMs' | 'headers'>) => number;
  /** True if a later event of the instrument is a dead letter. Absent if no lag of the list is judged. */
  readonly isOvertaken?: (since: string | undefined, id: bigint) => boolean;
}

/** Returns the lesser of a record's ages by the broker's and the provider's clock. `time`: the committed `serverDate`. */
export function recordAge(time: ResponseTime | null, wallMs: number): EventRecords['ageMs'] {
  return ({ timestampMs, headers }) => {
    const byBrokerMs = wallMs - timestampMs;
    if (byBrokerMs <= REMEMBERED_MS || time === null) return Math.max(0, byBrokerMs);
    const receivedMs = Date.parse(headers['spc-received'] ?? '');
    const byProviderMs = time.dateMs - receivedMs;
    // A date far in the future is wrong. It would give the age 0, and so protect removed instruments from deletion.
    if (Number.isNaN(receivedMs) || byProviderMs < -REMEMBERED_MS) return byBrokerMs;
    return Math.max(0, Math.min(byBrokerMs, byProviderMs));
  };
}

/**
 * Reads the instruments topic, and keeps a digest of the newest record of each id. A record of an earlier schema gets
 * the digest that the same content has in the current schema.
 *
 * @throws ConnectorError RECORD_UNREADABLE (a foreign record), TOPIC_REFUSED (a wrong partition), or of reader or registry.
 */
export function readCensus({ reader, topic, digests, eventRecords, signal }: CensusOptions): Promise<Census> {
  const readLoaded = async () => {
    const census = new Census(new ReportedEvents(eventRecords?.since, eventRecords?.end));
    // The errors of foreign records, by partition and key. A later record of the same key removes the error.
    const foreign = new Map<string, ConnectorError>();
    await reader.readToEnd({
      topic: topic.name,
      partitions: Array.from({ length: topic.partitions }, (_, partition) => partition),
      onRecord(record) {
        const error = count(record, topic, census, digests, eventRecords);
        if (error === null && foreign.size === 0) return;
        const place = `${record.partition} ${record.key}`;
        foreign.delete(place);
        if (error !== null) foreign.set(place, error);
        if (foreign.size > MOST_FOREIGN) throw error;
      },
      toHighWatermark: true,
      signal,
    });
    for (const error of foreign.values()) throw error;
    return census;
  };
  return readWithSchemas(readLoaded, (schemaId) => digests.load(schemaId));
}

/** Null if the key is not the id of an instrument. */
export function instrumentId(key: Buffer | null): bigint | null {
  const text = String(key);
  return isIntegerKey(text) ? BigInt(text) : null;
}

/** Puts a record into the census. Returns the error of a foreign record, which a later record may still replace. */
function count(
  record: CommittedRecord,
  topic: TargetTopic,
  census: Census,
  digests: CurrentDigests,
  eventRecords: EventRecords | undefined,
): ConnectorError | null {
  const { key, value } = record;
  const id = instrumentId(key);
  const partition = key === null || id === null ? record.partition : partitionFor(key, topic.partitions);
  if (partition !== record.partition) return value === null ? null : misplaced(record, partition);
  const since = record.headers['spc-since'];
  const isEvent = eventRecords !== undefined && record.headers['spc-endpoint'] === eventRecords.eventsEndpoint;
  const ageMs = isEvent && !isBefore(since, eventRecords.streamStart ?? '') ? eventRecords.ageMs(record) : null;
  if (ageMs !== null) census.reported.add(since, id, ageMs, census.isRemembered(ageMs, since));
  if (ageMs !== null && id !== null) census.setOvertaken(id, eventRecords?.isOvertaken?.(since, id) ?? false);
  if (value === null) {
    if (id !== null && ageMs !== null) census.deleteByEvent(id, ageMs, since);
    else if (id !== null) census.delete(id);
    return null;
  }
  if (id === null) return strange(record, 'Its key is not the id of an instrument.', undefined);
  try {
    const found = digests.of(value);
    if ('unknownSchemaId' in found) throw new MissingSchema(found.unknownSchemaId);
    if (ageMs === null) census.put(id, found.digest, found.isCurrentSchema);
    else census.putEvent(id, found.digest, found.isCurrentSchema, ageMs, since);
    return null;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    return strange(record, error.message, error);
  }
}

/** The source writes this key only to another partition. So no newer record would ever replace this record. */
function misplaced({ topic, partition, offset, key }: CommittedRecord, partitionOfKey: number): ConnectorError {
  return new ConnectorError(
    'TOPIC_REFUSED',
    `The record at offset ${offset} of ${topic}, partition ${partition}, has the key ${key}, which belongs to partition ${partitionOfKey}. ` +
      `Partitions were added to the topic, or another program writes to it. Delete the topic (kafka-topics.sh --bootstrap-server <broker> --delete --topic ${topic}), ` +
      'and create it again (`spconnect topics create`): a walk fills it.',
    { fields: { topic, partition, offset: String(offset) } },
  );
}

function strange({ topic, partition, offset }: CommittedRecord, why: string, cause: unknown): ConnectorError {
  const record = `The record at offset ${offset} of ${topic}, partition ${partition},`;
  const another = 'the other writer, and write a null value with the key of this record.';
  const isMissing = cause instanceof ConnectorError && cause.fields.missingSchemaId !== undefined;
  const text = isMissing
    ? `${record} cannot be read. ${why} If the registry was replaced or lost the schema, restore the schema with this id, and ` +
      `restart the source. Otherwise find ${another}`
    : `${record} was not written by this source. ${why} Only this source may write to the topic. Find ${another}`;
  return new ConnectorError('RECORD_UNREADABLE', text, {
    cause,
    fields: { topic, partition, offset: String(offset) },
  });
}
