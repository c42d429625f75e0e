import { counted, countText } from '../admin/texts.ts';
import { type SourceSettingsOf, topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { offsetKey, offsetPartition, readAllOffsets } from '../kafka/offset-store.ts';
import { filterText } from '../provider/reference-data.ts';
import { createCurrentDigests } from '../records/avro/current-digest.ts';
import { createRecordReader, type ReadableRecord } from '../records/avro/record-reader.ts';
import { readSchemaText } from '../records/avro/schema-files.ts';
import { readWireValue } from '../records/avro/wire-format.ts';
import type { DecodedRow } from '../records/decoding/page-decoder.ts';
import type { Installation } from '../run/installation.ts';
import { createRegistry } from '../run/registry-client.ts';
import { readUpTo } from '../sources/stream/committed-stream.ts';
import { instrumentId, readCensus, recordAge } from '../sources/tasks/census-reader.ts';
import { DeadLetterShare } from '../sources/tasks/dead-letter-share.ts';
import { rowFacts } from '../sources/tasks/instrument-records.ts';
import type { InstrumentsProvider } from '../sources/tasks/instruments-provider.ts';
import type { Census } from '../sources/walk/census.ts';
import type { RowFacts, WalkFlaw } from '../sources/walk/instruments-messages.ts';
import { committedWalkIntervalMs, NO_COUNTS, readInstrumentsOffset } from '../sources/walk/instruments-offset.ts';
import { addCounts, recordRows, type SortedRows, sortRows } from '../sources/walk/page-rows.ts';
import { missingIds } from '../sources/walk/sweep.ts';
import { MOST_VERIFYING, placesToVerify } from '../sources/walk/walk-steps.ts';
import { silentLog } from '../support/log.ts';
import type { ProviderSession } from './provider-session.ts';

export type RowDifference = 'added' | 'corrected' | 'reEncoded' | 'deadLetters';

/** The time to commit a change and to read it back, in addition to the poll interval and the hand-off margin. */
const COMMIT_MS = 5_000;
/** If more instruments than this differ, the differences are not only recent changes. */
export const MOST_SUSPECTS = 10_000;

export interface ComparisonOptions {
  readonly source: SourceSettingsOf<'instruments'>;
  /** True: `onRow` gets only rows that a walk would write. Recent events on the topic contradict none of these rows. */
  readonly asWalk: boolean;
  /** The longest time from a change at the provider to its record on the topic, in ms; undefined: from the settings. */
  readonly settle: number | undefined;
  readonly onProgress: (text: string) => void;
  /** Called before the row is put into the census. */
  readonly onRow: (difference: RowDifference, row: DecodedRow, census: Census) => void;
}

const NO_EVENT: ReadonlySet<bigint> = new Set();

/**
 * Compares the provider's whole list with the instruments topic, as a walk does. Writes and registers nothing. `held`:
 * number of instruments on the topic. `gone` and `staying`: instruments on the topic without a row in the list. A walk
 * would delete the instruments in `gone`. Recent events name the instruments in `staying`: they are not deleted yet.
 * `withoutId`: number of rows without a readable id; each may belong to an instrument in `gone` or `staying`.
 * `stopsWalk`: the error with which the list stops a walk; null if it stops none.
 * `unreadSince`: the committed offset's time, ISO 8601, if this time is so long ago that events may be unread; else null.
 *
 * @throws ConnectorError FILTER_CHANGED if the topic holds another list; or an error of provider, registry or Kafka.
 */
export async function compareList(
  at: Installation,
  session: ProviderSession,
  { source, asWalk, settle, onProgress, onRow }: ComparisonOptions,
) {
  const { settings, kafka, clock, signal } = at;
  const committed = await committedInstruments(at, source);
  const topic = { name: topicOf(settings, source.topics.instruments), partitions: settings.topics.partitions };
  const { provider, referenceData } = session.instruments(source, source.limit);
  const { digests, read } = await valuesOf(at, topic.name);
  const { serverDate = null, streamStart = null } = committed ?? {};
  const nowMs = clock.wallMs();
  const offsetAgeMs = serverDate === null ? 0 : nowMs - serverDate.ownMs;
  // A walk knows the provider's time from a new response. This command estimates the provider's time from the offset.
  const time = serverDate && { ...serverDate, dateMs: serverDate.dateMs + Math.max(0, offsetAgeMs) };
  const { eventsEndpoint } = referenceData;
  const eventRecords = { eventsEndpoint, streamStart, ...readUpTo(committed), ageMs: recordAge(time, nowMs) };
  const census = await readCensus({ reader: kafka.logReader, topic, digests, eventRecords, signal });
  const held = census.size;
  onProgress(`${counted(held, 'instrument')} on ${topic.name}`);
  const flaws = new Set<WalkFlaw>();
  let counts = NO_COUNTS;
  let [lastId, minId, withoutId]: [bigint | null, string | null, number] = [null, null, 0];
  const share = new DeadLetterShare(settings.mapping.maxDeadLetters);
  let stopsWalk: string | null = null;
  for await (const page of session.pages(provider)) {
    try {
      share.check(page.decoded.rows, `the list, minId=${minId ?? 'none'}`);
    } catch (error) {
      stopsWalk ??= (error as Error).message;
    }
    const rows = rowFacts(page.decoded.rows);
    const sorted: SortedRows = sortRows({ minId, rows }, NO_EVENT, census, lastId);
    for (const position of asWalk ? sorted.write : rows.keys()) {
      const [row, decoded] = [rows[position], page.decoded.rows[position]];
      if (row !== undefined && decoded !== undefined) onRow(differenceOf(row, census), decoded, census);
    }
    recordRows(rows, sorted, census);
    counts = addCounts(counts, sorted.counts);
    for (const flaw of sorted.flaws) flaws.add(flaw);
    withoutId += rows.filter(({ id }) => id === null).length;
    lastId = sorted.lastId ?? lastId;
    minId = page.next;
    onProgress(`${countText(counts.rows)} of about ${countText(held)} rows compared`);
  }
  const [missing, named] = [missingIds(census, NO_EVENT), missingIds(census, NO_EVENT, true)];
  const [gone, staying] = source.tombstones ? [missing, named] : [[...missing, ...named], []];
  const settleMs = settle ?? source.pollIntervalMs + source.handoffMarginMs + COMMIT_MS;
  const isUnread = serverDate !== null && offsetAgeMs > source.emptyCommitIntervalMs + source.pollIntervalMs + settleMs;
  const unreadSince = isUnread ? new Date(serverDate.ownMs).toISOString() : null;
  const digestOf = async (value: Buffer | null): Promise<bigint | null> => {
    const found = value === null ? null : digests.of(value);
    if (found === null || 'digest' in found) return found?.digest ?? null;
    await digests.load(found.unknownSchemaId);
    return digestOf(value);
  };
  /** Waits until the connector has written earlier changes, then returns the newest values on the topic. */
  async function settled(ids: Pick<ReadonlySet<bigint>, 'has' | 'size'>): Promise<ReadonlyMap<bigint, Buffer | null>> {
    onProgress(`Comparing ${counted(ids.size, 'instrument')} again in ${Math.ceil(settleMs / 1_000)} s`);
    await clock.sleep(settleMs, signal);
    const newest = new Map<bigint, Buffer | null>();
    await kafka.logReader.readToEnd({
      topic: topic.name,
      partitions: Array.from({ length: topic.partitions }, (_, partition) => partition),
      onRecord({ key, value }) {
        const id = instrumentId(key);
        if (id !== null && ids.has(id)) newest.set(id, value);
      },
      signal,
    });
    return newest;
  }
  return {
    ...{ committed, topic, provider, digestOf, read, settled, census, held, counts, flaws, lastId, withoutId },
    ...{ gone, staying, unreadSince, stopsWalk },
  };
}

/** The ids of the rows that follow the last row that was read; null if these rows cannot be read to their end. */
export async function idsBehind(
  pageAt: (minId: string | null) => ReturnType<InstrumentsProvider['page']>,
  lastId: bigint | null,
): Promise<ReadonlySet<bigint> | null> {
  const found = new Set<bigint>();
  const places = [...placesToVerify(lastId)];
  for (let asked = 0; places.length > 0; asked++) {
    const minId = places.shift() ?? null;
    const { decoded, next } = await pageAt(minId);
    for (const { id } of rowFacts(decoded.rows)) {
      if (id === null) return null;
      if (lastId === null || id > lastId) found.add(id);
    }
    if (next === null) continue;
    if (asked === MOST_VERIFYING || (minId !== null && BigInt(next) <= BigInt(minId))) return null;
    places.unshift(next);
  }
  return found;
}

export function stayingText(count: number): string {
  return (
    `Only the topic has ${counted(count, 'instrument')} that an event of the last 90 minutes names. No walk deletes such an ` +
    'instrument yet. The first walk that begins more than 90 minutes after the event deletes it, if maxShrink allows it.'
  );
}

function differenceOf({ id, digest }: RowFacts, census: Census): RowDifference {
  if (id === null || digest === null) return 'deadLetters';
  const compared = census.compare(id, digest);
  return compared === 'absent' ? 'added' : compared === 'different' ? 'corrected' : 'reEncoded';
}

/** The committed offset, with the walk interval of the process that committed it; null without a readable offset. */
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

/** Computes digests and fields of the topic's values, for any version of the schema. */
async function valuesOf({ settings, clock, signal }: Installation, topic: string) {
  const registry = await createRegistry({ ...settings.schemaRegistry, register: false }, { clock, log: silentLog });
  const schema = readSchemaText('Instrument');
  const schemaId = await registry.schemaId(`${topic}-value`, schema, signal).catch((error: unknown) => {
    const isAbsent = error instanceof ConnectorError && error.code === 'SCHEMA_NOT_REGISTERED';
    if (!isAbsent) throw error;
    // If our schema is not registered, every value has an earlier version of the schema.
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
