import type { SourceSettingsOf } from '../config/settings.ts';
import { topicOf } from '../config/settings.ts';
import { readCensus, recordAge } from '../connector/tasks/census-reader.ts';
import { rowFacts } from '../connector/tasks/core-facts.ts';
import type { InstrumentsPage } from '../connector/tasks/instruments-provider.ts';
import { KnownDeadRows, readKnownDeadRows } from '../connector/tasks/known-dead-rows.ts';
import type { Census } from '../connector/walk/census.ts';
import type { RowFacts, WalkFlaw } from '../connector/walk/instruments-messages.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../connector/walk/instruments-settings.ts';
import { addCounts, recordRows, type SortedRows, sortRows } from '../connector/walk/page-rows.ts';
import { missingIds, planSweep } from '../connector/walk/sweep.ts';
import { NO_COUNTS, type WalkCounts } from '../connector/walk/walk-counts.ts';
import { MOST_VERIFYING, placesToVerify } from '../connector/walk/walk-steps.ts';
import { ConnectorError } from '../errors.ts';
import { createReferenceDataHttp } from '../setup/provider-client.ts';
import { silentLog } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import { valuesOf } from './audit-operation.ts';
import { committedInstruments } from './committed-walks.ts';
import type { Installation } from './installation.ts';
import { patiently } from './patient-request.ts';
import { unregisteredInstruments } from './unregistered-provider.ts';

const NO_EVENT: ReadonlySet<bigint> = new Set();
const PLANNED = ['added', 'corrected', 'reEncoded', 'deadLetters', 'gone'] as const;

/** What a walk does to the instruments topic that it would not find as it should be. */
export type PlannedKind = (typeof PLANNED)[number];

/** What a walk would write and delete now. */
export interface WalkPlan {
  readonly source: string;
  readonly topic: string;
  /** Rows of the list, and instruments on the topic. */
  readonly rows: number;
  readonly held: number;
  /** `gone`: on the topic alone. `knownDeadLetters`: rows that are dead letters already, which no walk writes again. */
  readonly counts: Readonly<Record<PlannedKind | 'knownDeadLetters' | 'unchanged' | 'contradicting', number>>;
  /** Whether the walk would delete what is gone; why not, where it would not. */
  readonly deletes: boolean;
  readonly deletesNot: readonly WalkFlaw[] | 'emptyList' | 'tooMany' | 'tombstonesOff' | null;
  /** The first ids of each kind, in the order of the list. */
  readonly ids: Readonly<Record<PlannedKind, readonly string[]>>;
}

export interface WalkPlanRequest {
  readonly source: SourceSettingsOf<'instruments'>;
  /** How many deletions the walk would be allowed; null for no more than usual. */
  readonly allowShrink: number | null;
  /** The most ids of each kind. */
  readonly ids: number;
  readonly onProgress: (text: string) => void;
}

/**
 * Reads the topic and the provider's list, sorts the rows as a walk does, and asks behind the list's end as a walk does. It
 * writes nothing, fences no writer, and is no member of the group. Events that come meanwhile are not read: what they
 * change may be counted here, and would not be written by a walk; what they add may be found behind the end.
 *
 * @throws ConnectorError FILTER_CHANGED, WALK_CURSOR_REPEATED, and as the provider's client, the registry and Kafka do.
 */
export async function planWalk(at: Installation, request: WalkPlanRequest): Promise<WalkPlan> {
  const { settings, clock, signal } = at;
  const { source, allowShrink } = request;
  const log = { clock, random: systemRandom, log: silentLog };
  const http = await createReferenceDataHttp(settings.referenceData, log);
  try {
    const topic = { name: topicOf(settings, source.topics.instruments), partitions: settings.topics.partitions };
    const committed = await committedInstruments(at, source);
    const { provider, referenceData } = unregisteredInstruments({ settings, http, clock }, source, source.limit);
    const { digests } = await valuesOf(at, topic.name);
    const { since = null, serverDate = null } = committed ?? {};
    const ageMs = recordAge(serverDate, clock.wallMs());
    const eventRecords = { eventsEndpoint: referenceData.eventsEndpoint, since, ageMs };
    const census = await readCensus({ reader: at.kafka.logReader, topic, digests, eventRecords, signal });
    const held = census.size;
    request.onProgress(`${held} instruments on ${topic.name}`);
    const dead = new KnownDeadRows();
    await readKnownDeadRows(dead, {
      reader: at.kafka.logReader,
      topic: at.topics['dead-letters'],
      source: source.name,
      targetTopic: topic.name,
      clock,
      signal,
    });
    const { counts, flaws, ids, knownDeadLetters } = await readList(at, request, { provider, census, dead });
    const gone = missingIds(census, NO_EVENT);
    const sweep = planSweep({
      offset: { walk: (committed?.walk ?? 0) + 1, counts, walkAllowShrink: allowShrink, walkResumed: false },
      flaws,
      touched: NO_EVENT,
      census,
      settings: { ...source, shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED },
    });
    const [refusal] = sweep.notifications;
    const deletes = source.tombstones && sweep.outcome === 'gone';
    const { added, corrected, reEncoded, deadLetters, unchanged, contradicting } = counts;
    return {
      source: source.name,
      topic: topic.name,
      rows: counts.rows,
      held,
      counts: {
        ...{ added, corrected, reEncoded, unchanged, contradicting, knownDeadLetters },
        deadLetters: deadLetters - knownDeadLetters,
        gone: gone.length,
      },
      deletes,
      deletesNot: deletes
        ? null
        : !source.tombstones
          ? 'tombstonesOff'
          : refusal?.kind === 'shrinkRefused'
            ? refusal.why
            : [...flaws],
      ids: { ...ids, gone: gone.slice(0, request.ids).map(String) },
    };
  } finally {
    await http.close();
  }
}

interface ListRead {
  readonly counts: WalkCounts;
  readonly flaws: ReadonlySet<WalkFlaw>;
  readonly ids: Record<Exclude<PlannedKind, 'gone'>, string[]>;
  readonly knownDeadLetters: number;
}

interface Listed {
  readonly provider: { page(minId: string | null, signal: AbortSignal): Promise<InstrumentsPage> };
  readonly census: Census;
  readonly dead: KnownDeadRows;
}

/** Reads the list to its end, and marks in the census what it showed. */
async function readList(
  { clock, signal }: Installation,
  { ids: most, onProgress }: WalkPlanRequest,
  { provider, census, dead }: Listed,
): Promise<ListRead> {
  const pageAt = (minId: string | null): Promise<InstrumentsPage> =>
    patiently(() => provider.page(minId, signal), { clock, random: systemRandom, signal });
  const ids: ListRead['ids'] = { added: [], corrected: [], reEncoded: [], deadLetters: [] };
  const flaws = new Set<WalkFlaw>();
  let counts = NO_COUNTS;
  let knownDeadLetters = 0;
  let lastId: bigint | null = null;
  for (let minId: string | null = null; ; ) {
    const page: InstrumentsPage = await pageAt(minId);
    const rows = rowFacts(page.decoded.rows);
    const sorted: SortedRows = sortRows({ minId, rows }, NO_EVENT, census, lastId);
    for (const position of sorted.write) {
      const decoded = page.decoded.rows[position];
      if (decoded?.kind === 'failure' && dead.isKnown(decoded)) knownDeadLetters += 1;
      else note(ids, rows[position], census, most);
    }
    recordRows(rows, sorted, census);
    counts = addCounts(counts, sorted.counts);
    for (const flaw of sorted.flaws) flaws.add(flaw);
    lastId = sorted.lastId ?? lastId;
    onProgress(`${counts.rows} of about ${census.size} rows compared`);
    if (page.next === null) {
      if (await goesOn(pageAt, lastId)) flaws.add('rowsBehindTheEnd');
      return { counts, flaws, ids, knownDeadLetters };
    }
    if (minId !== null && BigInt(page.next) <= BigInt(minId)) {
      const text = `The cursor of the list goes from ${minId} to ${page.next}, expected a greater one: the list would never end.`;
      throw new ConnectorError('WALK_CURSOR_REPEATED', text);
    }
    minId = page.next;
  }
}

/** Whether the list has rows behind its end: then it was cut, and what it did not show may well be there. */
async function goesOn(pageAt: (minId: string | null) => Promise<InstrumentsPage>, lastId: bigint | null) {
  const places = [...placesToVerify(lastId)];
  for (let asked = 0; places.length > 0; asked++) {
    const minId = places.shift() ?? null;
    const { decoded, next } = await pageAt(minId);
    if (rowFacts(decoded.rows).some(({ id }) => id === null || lastId === null || id > lastId)) return true;
    if (next === null) continue;
    if (asked === MOST_VERIFYING || (minId !== null && BigInt(next) <= BigInt(minId))) return true;
    places.unshift(next);
  }
  return false;
}

function note(ids: ListRead['ids'], row: RowFacts | undefined, census: Census, most: number): void {
  if (row === undefined) return;
  const kind = row.id === null || row.digest === null ? 'deadLetters' : KINDS[census.compare(row.id, row.digest)];
  if (kind !== null && ids[kind].length < most && row.id !== null) ids[kind].push(String(row.id));
}

const KINDS = { absent: 'added', different: 'corrected', sameUnderOtherSchema: 'reEncoded', same: null } as const;
