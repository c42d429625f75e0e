import { ConnectorError } from '../../errors.ts';
import type { LogReader } from '../../kafka/log-reader.ts';
import type { CommittedRecord, TargetTopic } from '../../kafka/record.ts';
import type { CurrentDigests } from '../../records/avro/current-digest.ts';
import { MissingSchema, readWithSchemas } from '../../records/avro/current-digest.ts';
import { isIntegerKey } from '../../records/json/row-key.ts';
import { ReportedEvents } from '../stream/reported-events.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import { Census, REMEMBERED_MS } from '../walk/census.ts';

/** Most foreign records that are kept: one is enough to stop, but a later record of its key may still replace it. */
const MOST_STRANGERS = 1_000;

interface CensusOptions {
  readonly reader: LogReader;
  readonly topic: TargetTopic;
  readonly digests: CurrentDigests;
  /** For a walk: which records came from events, and when. Absent where only the content matters. */
  readonly eventRecords?: EventRecords;
  readonly signal: AbortSignal;
}

/** How the records of events are known, and their age. */
export interface EventRecords {
  /** Where our events come from, as the headers of their records say. */
  readonly eventsEndpoint: string;
  /** Our offset in the stream. */
  readonly since: string | null;
  /** Where the stream ends that is behind us, or is read again; null for none. */
  readonly end: string | null;
  /** How long ago a record was written, by the clock that shows less time. */
  readonly ageMs: (record: Pick<CommittedRecord, 'timestampMs' | 'headers'>) => number;
}

/** The age of records. `time`: of the newest response, whose clock their headers have; `wallMs`: our own clock. */
export function recordAge(time: ResponseTime | null, wallMs: number): EventRecords['ageMs'] {
  return ({ timestampMs, headers }) => {
    const byBrokerMs = wallMs - timestampMs;
    if (byBrokerMs <= REMEMBERED_MS || time === null) return Math.max(0, byBrokerMs);
    const receivedMs = Date.parse(headers['spc-received'] ?? '');
    const byProviderMs = time.dateMs - receivedMs;
    // Far in the future: that date was wrong, and would spare what is gone until it has come.
    if (Number.isNaN(receivedMs) || byProviderMs < -REMEMBERED_MS) return byBrokerMs;
    return Math.max(0, Math.min(byBrokerMs, byProviderMs));
  };
}

/**
 * Reads the newest record of each id of the instruments topic, as a digest. Records of an earlier schema are
 * read in it and taken as the current one would write them, so that a new schema alone is no correction.
 *
 * @throws ConnectorError RECORD_UNREADABLE when this source did not write the newest record of a key; and what the reader
 *   and the registry throw.
 */
export function readCensus(options: CensusOptions): Promise<Census> {
  return readWithSchemas(
    () => readLoaded(options),
    (schemaId) => options.digests.load(schemaId),
  );
}

/** The id that a key of the instruments topic names; null for a key that somebody else has written. */
export function instrumentId(key: Buffer | null): bigint | null {
  const text = String(key);
  return isIntegerKey(text) ? BigInt(text) : null;
}

async function readLoaded({ reader, topic, digests, eventRecords, signal }: CensusOptions): Promise<Census> {
  const census = new Census(new ReportedEvents(eventRecords?.since, eventRecords?.end));
  // By key: the newest record, where this source did not write it.
  const strangers = new Map<string, ConnectorError>();
  await reader.readToEnd({
    topic: topic.name,
    partitions: Array.from({ length: topic.partitions }, (_, partition) => partition),
    onRecord(record) {
      const stranger = count(record, census, digests, eventRecords);
      if (strangers.size > 0) strangers.delete(String(record.key));
      if (stranger !== null) strangers.set(String(record.key), stranger);
      if (strangers.size > MOST_STRANGERS) throw stranger;
    },
    behindOpen: true,
    signal,
  });
  for (const stranger of strangers.values()) throw stranger;
  return census;
}

/** Counts one record; returns an error where it is foreign, to stop with if it stays the newest of its key. */
function count(
  record: CommittedRecord,
  census: Census,
  digests: CurrentDigests,
  eventRecords: EventRecords | undefined,
): ConnectorError | null {
  const { key, value } = record;
  const id = instrumentId(key);
  const isEvent = eventRecords !== undefined && record.headers['spc-endpoint'] === eventRecords.eventsEndpoint;
  const ageMs = isEvent ? eventRecords.ageMs(record) : null;
  const since = record.headers['spc-since'];
  if (ageMs !== null) census.reported.add(since, id, ageMs, census.isRemembered(ageMs, since));
  if (value === null) {
    if (id !== null && ageMs !== null) census.deleteByEvent(id, ageMs, since);
    else if (id !== null) census.delete(id);
    return null;
  }
  if (id === null) return strange(record, 'Its key is no id of an instrument.', undefined);
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

function strange({ topic, partition, offset }: CommittedRecord, why: string, cause: unknown): ConnectorError {
  return new ConnectorError(
    'RECORD_UNREADABLE',
    `The record at offset ${offset} of ${topic}, partition ${partition}, was not written by this source. ${why} Only this source may ` +
      'write to the topic: find who else does, and write a null value under that key.',
    { cause, fields: { topic, partition, offset: String(offset) } },
  );
}
