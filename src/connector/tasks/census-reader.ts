import type { CurrentDigests } from '../../avro/current-digest.ts';
import { ConnectorError } from '../../errors.ts';
import type { LogReader } from '../../kafka/log-reader.ts';
import type { CommittedRecord } from '../../kafka/record.ts';
import type { TargetTopic } from '../../kafka/target-topic.ts';
import { Census } from '../core/census.ts';

const INSTRUMENT_ID = /^-?[0-9]{1,19}$/;
/** More schemas than any topic of instruments has. */
const MOST_SCHEMAS = 1_000;
/** Of records that are none of ours; one is enough to stop, and a later record may still take it back. */
const MOST_STRANGERS = 1_000;

interface CensusOptions {
  readonly reader: LogReader;
  readonly topic: TargetTopic;
  readonly digests: CurrentDigests;
  readonly signal: AbortSignal;
}

/**
 * What the instruments topic holds now: the newest record of each id, as a digest. Records of an earlier schema are
 * read in it and taken as the current one would write them, so that a new schema alone is no correction.
 *
 * @throws ConnectorError RECORD_UNREADABLE when the newest record of a key is none of ours, and what the reader and the
 *   registry throw.
 */
export async function readCensus(options: CensusOptions): Promise<Census> {
  for (let schemas = 0; schemas < MOST_SCHEMAS; schemas++) {
    const found = await tryToRead(options);
    if (found instanceof Census) return found;
    await options.digests.load(found.unknownSchemaId);
  }
  throw new Error(`The topic names more than ${MOST_SCHEMAS} schemas.`);
}

/** The id that a key of the instruments topic names; null for a key that somebody else has written. */
export function instrumentId(key: Buffer | null): bigint | null {
  const text = String(key);
  return INSTRUMENT_ID.test(text) ? BigInt(text) : null;
}

/** Ends at the first record whose schema is not loaded: loading takes an answer, and records come without pause. */
async function tryToRead({ reader, topic, digests, signal }: CensusOptions) {
  const census = new Census();
  // By key: the newest record, where it is none of ours.
  const strangers = new Map<string, ConnectorError>();
  try {
    await reader.readToEnd({
      topic: topic.name,
      partitions: Array.from({ length: topic.partitions }, (_, partition) => partition),
      onRecord(record) {
        const stranger = count(record, census, digests);
        if (strangers.size > 0) strangers.delete(String(record.key));
        if (stranger !== null) strangers.set(String(record.key), stranger);
        if (strangers.size > MOST_STRANGERS) throw stranger;
      },
      signal,
    });
  } catch (error) {
    if (error instanceof UnknownSchema) return { unknownSchemaId: error.schemaId };
    throw error;
  }
  for (const stranger of strangers.values()) throw stranger;
  return census;
}

/** Counts one record; gives the error to stop with, should it stay the newest of its key and not be one of ours. */
function count(record: CommittedRecord, census: Census, digests: CurrentDigests): ConnectorError | null {
  const { key, value } = record;
  const id = instrumentId(key);
  if (value === null) {
    if (id !== null) census.delete(id);
    return null;
  }
  if (id === null) return strange(record, 'Its key is no id of an instrument.', undefined);
  try {
    const found = digests.of(value);
    if ('unknownSchemaId' in found) throw new UnknownSchema(found.unknownSchemaId);
    census.put(id, found.digest, found.isCurrentSchema);
    return null;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    return strange(record, error.message, error);
  }
}

function strange({ topic, partition, offset }: CommittedRecord, why: string, cause: unknown): ConnectorError {
  return new ConnectorError(
    'RECORD_UNREADABLE',
    `The record at offset ${offset} of ${topic}, partition ${partition}, is none of ours. ${why} Only this source may ` +
      'write to the topic: find who else does, and write a null value under that key.',
    { cause, fields: { topic, partition, offset: String(offset) } },
  );
}

class UnknownSchema extends Error {
  readonly schemaId: number;

  constructor(schemaId: number) {
    super(`schema id ${schemaId} is not loaded`);
    this.schemaId = schemaId;
  }
}
