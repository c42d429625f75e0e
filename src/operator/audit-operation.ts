import { type CurrentDigests, createCurrentDigests } from '../avro/current-digest.ts';
import { recordDigest } from '../avro/record-digest.ts';
import { createRecordReader, type ReadableRecord } from '../avro/record-reader.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import { readWireValue } from '../avro/wire-format.ts';
import { type SourceSettingsOf, topicOf } from '../config/settings.ts';
import { instrumentId, readCensus } from '../connector/tasks/census-reader.ts';
import type { InstrumentsPage, InstrumentsProvider } from '../connector/tasks/instruments-provider.ts';
import type { Census } from '../connector/walk/census.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../connector/walk/instruments-settings.ts';
import { mayDelete } from '../connector/walk/sweep.ts';
import { ConnectorError } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import { createReferenceDataHttp } from '../setup/provider-client.ts';
import { createRegistry } from '../setup/registry-client.ts';
import { silentLog } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import { committedWalks, type WalkTimes } from './committed-walks.ts';
import { type FieldDifference, fieldDifferences } from './field-differences.ts';
import type { Installation } from './installation.ts';
import { patiently } from './patient-request.ts';
import { unregisteredInstruments, unregisteredReader } from './unregistered-provider.ts';

/** An instrument that the topic does not hold as it should. */
export interface AuditDifference {
  readonly id: string;
  /** `missing` on the topic, `different` there, or `extra`: on the topic alone, although no walk is to come that deletes it. */
  readonly kind: 'missing' | 'extra' | 'different';
  /** For `different`: in which fields. */
  readonly fields: readonly FieldDifference[];
}

export interface AuditReport {
  readonly source: string;
  readonly topic: string;
  /** Rows that the provider gave. */
  readonly rows: number;
  /** Of them, those that do not map: they are dead letters and have no place on the topic. */
  readonly unmapped: number;
  readonly differences: readonly AuditDifference[];
  /** On the topic alone, as they must be: they left the list after the last walk had seen it, and the next walk deletes them. */
  readonly left: readonly string[];
  /** When the source walks; null where no offset says it, or where its walks delete nothing. */
  readonly walks: WalkTimes | null;
  /** Those that changed each time they were compared: the audit has no result for them. */
  readonly unsettled: readonly string[];
}

export interface AuditRequest {
  readonly source: SourceSettingsOf<'instruments'>;
  /** What the connector may take until a change at the provider is on the topic. */
  readonly settleMs: number;
  readonly onProgress: (text: string) => void;
}

/** What the provider had of an instrument: a value in wire format, null for none. */
type Suspects = Map<bigint, Buffer | null>;

const MOST_SUSPECTS = 10_000;
const ROUNDS = 3;
/** With the row before it, whether the provider's cursor includes the row that it names or not. */
const NEIGHBOURS = 2;

/**
 * Walks the provider's list and compares it with what the topic holds. What differs is compared again after the
 * connector had time to write it, since the provider changes meanwhile; only what still differs then, while the provider
 * gives the same as before, is a difference. Writes nothing.
 *
 * @throws ConnectorError TOO_MANY_DIFFERENCES, and as the provider's client, the registry and Kafka do.
 */
export async function auditSource(at: Installation, request: AuditRequest): Promise<AuditReport> {
  const { referenceData } = at.settings;
  const http = await createReferenceDataHttp(referenceData, { clock: at.clock, random: systemRandom, log: silentLog });
  try {
    return await audit(at, request, http);
  } finally {
    await http.close();
  }
}

async function audit(at: Installation, request: AuditRequest, http: HttpClient): Promise<AuditReport> {
  const { settings, clock, signal } = at;
  const { source, settleMs, onProgress } = request;
  // A filter that was changed is noticed here: the topic then holds another list.
  const walks = await committedWalks(at, source);
  const topic = { name: topicOf(settings, source.topics.instruments), partitions: settings.topics.partitions };
  const { digests, read } = await valuesOf(at, topic.name);
  const census = await readCensus({ reader: at.kafka.logReader, topic, digests, signal });
  onProgress(`${census.size} instruments on ${topic.name}`);
  const { provider } = unregisteredInstruments({ settings, http, clock }, source, source.limit);
  const walked = await walk(at, provider, census, onProgress);

  const one = unregisteredInstruments({ settings, http, clock }, source, NEIGHBOURS).provider;
  const providerReader = unregisteredReader('Instrument');
  const digestOf = async (value: Buffer | null): Promise<bigint | null> => {
    const found = value === null ? null : digests.of(value);
    if (found === null || 'digest' in found) return found?.digest ?? null;
    await digests.load(found.unknownSchemaId);
    return digestOf(value);
  };
  const found: AuditDifference[] = [];
  let suspects: Suspects = walked.suspects;
  for (let round = 1; round <= ROUNDS && suspects.size > 0; round++) {
    onProgress(`${suspects.size} are compared again in ${Math.ceil(settleMs / 1_000)} s`);
    await clock.sleep(settleMs, signal);
    const held = await newestValues(at, topic, suspects);
    const unsettled: Suspects = new Map();
    for (const [id, before] of suspects) {
      const row = await rowOf(at, one, id);
      if (row === 'unmapped') continue;
      const onTopic = held.get(id) ?? null;
      const [wasDigest, isDigest] = [digestIn(before), digestIn(row)];
      const topicDigest = await digestOf(onTopic);
      if (topicDigest === wasDigest || topicDigest === isDigest) continue;
      if (wasDigest !== isDigest) unsettled.set(id, row);
      else found.push(await differenceOf(id, row, onTopic));
    }
    suspects = unsettled;
  }

  return {
    source: source.name,
    topic: topic.name,
    rows: walked.rows,
    unmapped: walked.unmapped,
    ...sorted(found, { source, walks, instruments: census.size, nowMs: clock.wallMs() }),
    walks: source.tombstones ? walks : null,
    unsettled: [...suspects.keys()].map(String),
  };

  async function differenceOf(id: bigint, row: Buffer | null, onTopic: Buffer | null): Promise<AuditDifference> {
    if (onTopic === null) return { id: String(id), kind: 'missing', fields: [] };
    if (row === null) return { id: String(id), kind: 'extra', fields: [] };
    const fields = fieldDifferences(providerReader.read(row), await read(onTopic));
    return { id: String(id), kind: 'different', fields };
  }
}

interface SortedBy {
  readonly source: AuditRequest['source'];
  readonly walks: WalkTimes | null;
  /** On the topic. */
  readonly instruments: number;
  readonly nowMs: number;
}

/**
 * What is on the topic alone is as it must be until the next walk, which alone deletes; so it is a difference only where
 * that walk is overdue, or would refuse to delete so many.
 */
function sorted(
  found: readonly AuditDifference[],
  { source, walks, instruments, nowMs }: SortedBy,
): Pick<AuditReport, 'differences' | 'left'> {
  const inOrder = found.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  const extra = inOrder.filter(({ kind }) => kind === 'extra');
  const { maxShrink, tombstones } = source;
  // A walk that was resumed decides nothing, and is followed by one that does.
  const isOnTime = walks !== null && nowMs <= Date.parse(walks.nextAt) + walks.intervalMs && walks.withoutDeletion <= 1;
  const mayGo = mayDelete(extra.length, instruments, { maxShrink, shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED });
  if (tombstones && !(isOnTime && mayGo)) return { differences: inOrder, left: [] };
  return { differences: inOrder.filter(({ kind }) => kind !== 'extra'), left: extra.map(({ id }) => id) };
}

/** How the values of the topic are compared and read, whichever version of the schema wrote them. Registers nothing. */
export async function valuesOf(
  { settings, clock, signal }: Installation,
  topic: string,
): Promise<{ readonly digests: CurrentDigests; read(value: Buffer): Promise<ReadableRecord> }> {
  const registry = await createRegistry({ ...settings.schemaRegistry, register: false }, { clock, log: silentLog });
  const schema = readSchemaText('Instrument');
  const schemaId = await registry.schemaId(`${topic}-value`, schema, signal).catch((error: unknown) => {
    const isAbsent = error instanceof ConnectorError && error.code === 'SCHEMA_NOT_REGISTERED';
    if (!isAbsent) throw error;
    // Then every value was written by an earlier version.
    return -1;
  });
  const schemaText = (id: number) => registry.schemaText(id, signal);
  return {
    digests: createCurrentDigests({ schema, schemaId, schemaText }),
    async read(value) {
      const id = readWireValue(value).schemaId;
      return createRecordReader({ schemas: new Map([[id, await schemaText(id)]]) }).read(value);
    },
  };
}

/** Reads the whole list; gives what is not the same on the topic. */
async function walk(
  at: Installation,
  provider: InstrumentsProvider,
  census: Census,
  onProgress: (text: string) => void,
): Promise<{ readonly suspects: Suspects; readonly rows: number; readonly unmapped: number }> {
  const suspects: Suspects = new Map();
  let [rows, unmapped, keyless] = [0, 0, 0];
  let cursor: string | null = null;
  do {
    const asked: string | null = cursor;
    const page: InstrumentsPage = await patiently(() => provider.page(asked, at.signal), patience(at));
    for (const row of page.decoded.rows) {
      rows += 1;
      if (row.kind === 'failure') {
        unmapped += 1;
        if (row.key === null) keyless += 1;
        else census.see(BigInt(row.key));
        continue;
      }
      census.see(row.id);
      const comparison = census.compare(row.id, recordDigest(row.value));
      if (comparison === 'absent' || comparison === 'different') suspect(suspects, row.id, row.value);
    }
    onProgress(`${rows} of about ${census.size} rows compared`);
    cursor = page.next;
    if (cursor !== null && asked !== null && BigInt(cursor) <= BigInt(asked)) {
      const text = `The cursor of the list goes from ${asked} to ${cursor}, expected a greater one: the list would never end.`;
      throw new ConnectorError('WALK_CURSOR_REPEATED', text);
    }
  } while (cursor !== null);
  // A row whose id cannot be read may be any of those that did not come.
  if (keyless === 0) for (const id of census.unseen()) suspect(suspects, id, null);
  return { suspects, rows, unmapped };
}

function suspect(suspects: Suspects, id: bigint, value: Buffer | null): void {
  if (suspects.size >= MOST_SUSPECTS) {
    throw new ConnectorError(
      'TOO_MANY_DIFFERENCES',
      `More than ${MOST_SUSPECTS} instruments of the list differ from the topic: no walk has been completed, ` +
        'or it is another list. The audit stopped here.',
    );
  }
  suspects.set(id, value);
}

/** What the topic holds of these now. */
async function newestValues(
  { kafka, signal }: Installation,
  topic: { readonly name: string; readonly partitions: number },
  ids: ReadonlyMap<bigint, unknown>,
): Promise<ReadonlyMap<bigint, Buffer | null>> {
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

/** What the provider has of one instrument now; null when it lists none of this id. */
async function rowOf(at: Installation, provider: InstrumentsProvider, id: bigint): Promise<Buffer | null | 'unmapped'> {
  const before = id > 0n ? String(id - 1n) : null;
  const page = await patiently(() => provider.page(before, at.signal), patience(at));
  const row = page.decoded.rows.find(({ key }) => key === String(id));
  if (row === undefined) return null;
  return row.kind === 'failure' ? 'unmapped' : row.value;
}

function patience({ clock, signal }: Installation) {
  return { clock, random: systemRandom, signal };
}

function digestIn(value: Buffer | null): bigint | null {
  return value === null ? null : recordDigest(value);
}
