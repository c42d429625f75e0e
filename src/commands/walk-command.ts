import { atInstallation, type Installation } from '../run/installation.ts';
import { requestWalk } from '../run/state-operation.ts';
import { rowFacts } from '../sources/tasks/instrument-records.ts';
import type { InstrumentsProvider } from '../sources/tasks/instruments-provider.ts';
import { KnownDeadRows, readKnownDeadRows } from '../sources/tasks/known-dead-rows.ts';
import type { Census } from '../sources/walk/census.ts';
import { type RowFacts, SHRINK_ALWAYS_ALLOWED, type WalkFlaw } from '../sources/walk/instruments-messages.ts';
import { NO_COUNTS } from '../sources/walk/instruments-offset.ts';
import { addCounts, recordRows, type SortedRows, sortRows } from '../sources/walk/page-rows.ts';
import { missingIds, planSweep } from '../sources/walk/sweep.ts';
import { MOST_VERIFYING, placesToVerify } from '../sources/walk/walk-steps.ts';
import { knownSource, loadWholeSettings } from './command-settings.ts';
import { openComparison } from './list-comparison.ts';
import { atProvider, type ProviderSession } from './provider-session.ts';
import { commandProgress, print, textTable } from './shell/output.ts';
import type { CommandContext } from './shell/terminal.ts';

interface WalkOptions {
  /** How many deletions the walk may make beyond the usual ones. */
  readonly allowShrink?: number;
  readonly dryRun: boolean;
  /** The most ids of each kind. */
  readonly ids: number;
}

/** `walk`: one more complete reading of the list, now; or, with --dry-run, its result alone. */
export async function walkCommand(context: CommandContext, options: WalkOptions, name: string): Promise<void> {
  const { stderr, signal } = context;
  const { allowShrink = null, dryRun, ids } = options;
  const settings = await loadWholeSettings(context);
  const instruments = settings.sources.filter((one) => one.type === 'instruments');
  const source = knownSource(context, name, instruments);
  if (dryRun) {
    const progress = commandProgress(stderr, null);
    const request = { source, allowShrink, ids, onProgress: progress.show };
    const plan = await atInstallation({ settings, signal, needs: ['offsets'] }, (at) =>
      atProvider(at, (session) => planWalk(at, session, request)),
    ).finally(progress.end);
    print(context, plan, textTable(rowsOf(plan)));
    stderr.write(planText(plan));
    return;
  }
  const walk = await atInstallation({ settings, signal, needs: ['states'] }, (at) =>
    requestWalk(at, { source: name, allowShrink }),
  );
  const allowed = allowShrink === null ? '' : `may delete ${allowShrink} instruments`;
  print(context, { source: name, ...walk }, textTable([[name, 'walk requested', allowed]]));
  stderr.write(
    'Requested. A running connector starts it now, or after the walk that is running; a stopped one when it starts.\n',
  );
}

/** The kinds of changes that a walk would make. */
const KINDS = {
  added: 'would be added',
  corrected: 'would be corrected',
  reEncoded: 'would be written in the current schema',
  deadLetters: 'cannot be mapped, and would be dead letters',
  gone: 'on the topic alone',
} as const;
type PlannedKind = keyof typeof KINDS;
type WalkPlan = Awaited<ReturnType<typeof planWalk>>;

function rowsOf({ counts, ids }: WalkPlan): string[][] {
  const kinds = Object.entries(KINDS) as [PlannedKind, string][];
  return kinds.map(([kind, what]) => {
    const more = counts[kind] > ids[kind].length && ids[kind].length > 0 ? ', ...' : '';
    return [kind, String(counts[kind]), what, `${ids[kind].join(', ')}${more}`];
  });
}

const DELETES_NOT = {
  emptyList: 'the list is empty, so a walk would delete nothing unless --allow-shrink allows it',
  tooMany: 'they are too many, so a walk would delete none of them unless --allow-shrink allows it',
  tombstonesOff: 'the source deletes nothing (tombstones: false)',
};

function planText({ source, topic, rows, held, counts, deletes, deletesNot }: WalkPlan): string {
  const why =
    typeof deletesNot === 'string'
      ? DELETES_NOT[deletesNot]
      : `the list cannot be trusted (${deletesNot?.join(', ')}), so a walk would delete nothing`;
  const gone =
    counts.gone === 0 ? '' : deletes ? ` A walk would delete ${counts.gone}.` : ` Of those that are gone: ${why}.`;
  const spared =
    counts.contradicting === 0 ? '' : ` ${counts.contradicting} rows differ from recent events, and would not be used.`;
  const { knownDeadLetters } = counts;
  const known = knownDeadLetters === 0 ? '' : ` ${knownDeadLetters} rows are dead letters already.`;
  return `Nothing was written. The list of source ${source} has ${rows} rows, ${topic} holds ${held} instruments.${gone}${spared}${known}\n`;
}

interface PlanRequest extends Omit<Required<WalkOptions>, 'allowShrink' | 'dryRun'> {
  readonly source: Parameters<typeof openComparison>[2];
  readonly allowShrink: number | null;
  readonly onProgress: (text: string) => void;
}

const NO_EVENT: ReadonlySet<bigint> = new Set();

/**
 * Compares the list with the topic as a walk does, and asks behind the list's end as a walk does. Fences no writer and
 * joins no group. Events that come meanwhile are not read: their changes may be counted here, and a walk would not write
 * them. `knownDeadLetters` are dead letters already; `gone` are on the topic alone.
 */
async function planWalk(at: Installation, session: ProviderSession, request: PlanRequest) {
  const { source, allowShrink, onProgress } = request;
  const comparison = await openComparison(at, session, source, { onProgress, withEvents: true });
  const { committed, topic, census } = comparison;
  const held = census.size;
  const dead = new KnownDeadRows();
  await readKnownDeadRows(dead, {
    reader: at.kafka.logReader,
    topic: at.topics['dead-letters'],
    source: source.name,
    targetTopic: topic.name,
    clock: at.clock,
    signal: at.signal,
  });
  const { counts, flaws, ids, knownDeadLetters } = await readList(at, session, request, { ...comparison, dead });
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
  const refused = refusal?.kind === 'shrinkRefused' ? refusal.why : [...flaws];
  const { added, corrected, reEncoded, deadLetters, unchanged, contradicting, rows } = counts;
  const planned = { added, corrected, reEncoded, deadLetters: deadLetters - knownDeadLetters, gone: gone.length };
  return {
    source: source.name,
    topic: topic.name,
    rows,
    held,
    counts: { ...planned, unchanged, contradicting, knownDeadLetters },
    deletes,
    deletesNot: deletes ? null : source.tombstones ? refused : ('tombstonesOff' as const),
    ids: { ...ids, gone: gone.slice(0, request.ids).map(String) },
  };
}

/** Reads the list to its end, and marks its rows in the census. */
async function readList(
  { signal }: Installation,
  session: ProviderSession,
  { ids: most, onProgress }: PlanRequest,
  { provider, census, dead }: { provider: InstrumentsProvider; census: Census; dead: KnownDeadRows },
) {
  const ids: Record<Exclude<PlannedKind, 'gone'>, string[]> = {
    added: [],
    corrected: [],
    reEncoded: [],
    deadLetters: [],
  };
  const flaws = new Set<WalkFlaw>();
  let counts = NO_COUNTS;
  let knownDeadLetters = 0;
  let lastId: bigint | null = null;
  let minId: string | null = null;
  const held = census.size;
  for await (const page of session.pages(provider)) {
    const rows = rowFacts(page.decoded.rows);
    const sorted: SortedRows = sortRows({ minId, rows }, NO_EVENT, census, lastId);
    for (const position of sorted.write) {
      const decoded = page.decoded.rows[position];
      const row = rows[position];
      if (decoded?.kind === 'failure' && dead.isKnown(decoded)) knownDeadLetters += 1;
      else if (row !== undefined && row.id !== null) {
        const kind = kindOf(row, census);
        if (kind !== null && ids[kind].length < most) ids[kind].push(String(row.id));
      }
    }
    recordRows(rows, sorted, census);
    counts = addCounts(counts, sorted.counts);
    for (const flaw of sorted.flaws) flaws.add(flaw);
    lastId = sorted.lastId ?? lastId;
    onProgress(`${counts.rows} of about ${held} rows compared`);
    minId = page.next;
  }
  const pageAt = (after: string | null) => session.patiently(() => provider.page(after, signal));
  if (await goesOn(pageAt, lastId)) flaws.add('rowsBehindTheEnd');
  return { counts, flaws, ids, knownDeadLetters };
}

function kindOf({ id, digest }: RowFacts, census: Census): Exclude<PlannedKind, 'gone'> | null {
  if (id === null || digest === null) return 'deadLetters';
  const compared = census.compare(id, digest);
  return { absent: 'added', different: 'corrected', sameUnderOtherSchema: 'reEncoded', same: null }[
    compared
  ] as Exclude<PlannedKind, 'gone'> | null;
}

/** A list that has rows behind its end was cut: rows that it did not show may exist. */
async function goesOn(
  pageAt: (minId: string | null) => ReturnType<InstrumentsProvider['page']>,
  lastId: bigint | null,
): Promise<boolean> {
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
