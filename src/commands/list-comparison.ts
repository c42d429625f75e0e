import { type SourceSettingsOf, topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { offsetKey, offsetPartition, readAllOffsets } from '../kafka/offset-store.ts';
import { filterText } from '../provider/reference-data.ts';
import { createCurrentDigests } from '../records/avro/current-digest.ts';
import { createRecordReader, type ReadableRecord } from '../records/avro/record-reader.ts';
import { readSchemaText } from '../records/avro/schema-files.ts';
import { readWireValue } from '../records/avro/wire-format.ts';
import type { Installation } from '../run/installation.ts';
import { createRegistry } from '../run/registry-client.ts';
import { readUpTo } from '../sources/stream/committed-stream.ts';
import { readCensus, recordAge } from '../sources/tasks/census-reader.ts';
import { committedWalkIntervalMs, readInstrumentsOffset } from '../sources/walk/instruments-offset.ts';
import { silentLog } from '../support/log.ts';
import type { ProviderSession } from './provider-session.ts';

/**
 * Both sides of a comparison of the instruments topic with the provider's list: the committed offset, the census of the
 * topic and the provider of the list. Writes and registers nothing.
 *
 * @throws ConnectorError FILTER_CHANGED, since the topic then holds another list; and as the registry and Kafka do.
 */
export async function openComparison(
  at: Installation,
  session: ProviderSession,
  source: SourceSettingsOf<'instruments'>,
  { onProgress, withEvents }: { readonly onProgress: (text: string) => void; readonly withEvents: boolean },
) {
  const { settings, kafka, clock, signal } = at;
  const committed = await committedInstruments(at, source);
  const topic = { name: topicOf(settings, source.topics.instruments), partitions: settings.topics.partitions };
  const { provider, referenceData } = session.instruments(source, source.limit);
  const { digests, read } = await valuesOf(at, topic.name);
  const ageMs = recordAge(committed?.serverDate ?? null, clock.wallMs());
  const { eventsEndpoint } = referenceData;
  const events = withEvents ? { eventRecords: { eventsEndpoint, ...readUpTo(committed), ageMs } } : {};
  const census = await readCensus({ reader: kafka.logReader, topic, digests, ...events, signal });
  onProgress(`${census.size} instruments on ${topic.name}`);
  return { committed, topic, provider, digests, read, census };
}

/** With the walk interval of the process that committed it; null when nothing readable is committed. */
async function committedInstruments({ kafka, topics, signal }: Installation, source: SourceSettingsOf<'instruments'>) {
  const key = offsetKey(source.name, source.type);
  const stored = await readAllOffsets(kafka.logReader, topics.offsets.name, [offsetPartition(key)], signal);
  const offset = stored.find((one) => one.key === key)?.offset ?? null;
  if (offset === null) return null;
  try {
    const walkIntervalMs = committedWalkIntervalMs(offset) ?? source.walkIntervalMs;
    return { ...readInstrumentsOffset(offset, source.name, filterText(source)), walkIntervalMs };
  } catch (error) {
    if (error instanceof ConnectorError && error.code === 'OFFSET_UNREADABLE') return null;
    throw error;
  }
}

/** Digests and fields of the topic's values, whichever version of the schema wrote them. */
async function valuesOf({ settings, clock, signal }: Installation, topic: string) {
  const registry = await createRegistry({ ...settings.schemaRegistry, register: false }, { clock, log: silentLog });
  const schema = readSchemaText('Instrument');
  const schemaId = await registry.schemaId(`${topic}-value`, schema, signal).catch((error: unknown) => {
    const isAbsent = error instanceof ConnectorError && error.code === 'SCHEMA_NOT_REGISTERED';
    if (!isAbsent) throw error;
    // Then an earlier version wrote every value.
    return -1;
  });
  const schemaText = (id: number) => registry.schemaText(id, signal);
  return {
    digests: createCurrentDigests({ schema, schemaId, schemaText }),
    async read(value: Buffer): Promise<ReadableRecord> {
      const id = readWireValue(value).schemaId;
      return createRecordReader({ schemas: new Map([[id, await schemaText(id)]]) }).read(value);
    },
  };
}
