import { counted, countText } from '../admin/texts.ts';
import { topicOf } from '../config/settings.ts';
import { atInstallation, type Installation } from '../run/installation.ts';
import { plannedTopics } from '../run/planned-topics.ts';
import { requestWalk } from '../run/state-operation.ts';
import { KnownDeadRows, readKnownDeadRows } from '../sources/tasks/known-dead-rows.ts';
import type { Census } from '../sources/walk/census.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../sources/walk/instruments-messages.ts';
import { planSweep } from '../sources/walk/sweep.ts';
import { knownSource, loadWholeSettings, loadWithoutProvider } from './command-settings.ts';
import { type ComparisonOptions, compareList, idsBehind, MOST_SUSPECTS, stayingText } from './list-comparison.ts';
import { atProvider, type ProviderSession } from './provider-session.ts';
import { commandProgress, print, textTable } from './shell/output.ts';
import type { CommandContext } from './shell/terminal.ts';

const USUAL_IDS = 10;

interface WalkOptions {
  /** The walk may delete up to this many instruments, even above the usual limit. */
  readonly allowShrink?: number;
  readonly dryRun: boolean;
  readonly settle?: number;
  /** The most ids that are shown of each kind; by default `USUAL_IDS`. */
  readonly ids?: number;
}

export async function walkCommand(context: CommandContext, options: WalkOptions, name: string): Promise<void> {
  const { stderr, signal, refuse } = context;
  const { allowShrink = null, dryRun, ids, settle } = options;
  if (!dryRun && (ids ?? settle) !== undefined) refuse('--ids and --settle need --dry-run');
  const settings = await (dryRun ? loadWholeSettings(context) : loadWithoutProvider(context));
  const instruments = settings.sources.filter((one) => one.type === 'instruments');
  const source = knownSource(context, name, instruments, 'instruments source');
  if (dryRun) {
    const progress = commandProgress(stderr, null);
    const request = { source, allowShrink, ids: ids ?? USUAL_IDS, settle, onProgress: progress.show };
    const compared = plannedTopics(settings, [topicOf(settings, source.topics.instruments)]);
    const plan = await atInstallation({ settings, signal, needs: ['offsets', ...compared] }, (at) =>
      atProvider(at, (session) => planWalk(at, session, request)),
    ).finally(progress.end);
    print(context, plan, textTable(rowsOf(plan)));
    stderr.write(planText(plan));
    return;
  }
  const walk = await atInstallation({ settings, signal, needs: ['states'] }, (at) =>
    requestWalk(at, { source: name, allowShrink }),
  );
  const most = `may delete ${allowShrink} instruments, even if maxShrink allows fewer`;
  const allowed = allowShrink === null ? '' : source.tombstones ? most : DELETES_NOT.tombstonesOff;
  print(context, { source: name, ...walk }, textTable([[name, 'walk requested', allowed]]));
  stderr.write(walksText([name]));
}

export function walksText(sources: readonly string[]): string {
  return (
    `Requested a walk of ${sources.join(', ')}. A running source begins the walk after the next response of the stream, or ` +
    'after a walk that is still running; a paused, stopped or failed source when it runs again. The status shows when the ' +
    'walk reads the list.\n'
  );
}

const KINDS = {
  added: 'would be added',
  corrected: 'would be corrected',
  reEncoded: 'would be written in the current schema',
  deadLetters: 'cannot be mapped, and would be dead letters',
  gone: 'only on the topic',
  staying: 'only on the topic, stay for now: an event of the last 90 minutes names them',
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
  emptyList: 'the list is empty, so a walk would delete nothing without a sufficient --allow-shrink',
  tooMany: 'a walk would not delete so many instruments without a sufficient --allow-shrink',
  repeats: 'the stream repeats earlier events, so no walk deletes anything yet',
  tombstonesOff: 'the source deletes nothing (tombstones: false)',
};

function planText(plan: WalkPlan): string {
  const { source, topic, rows, held, counts, deletes, deletesNot, isSettled, stopsWalk } = plan;
  const why =
    typeof deletesNot === 'string'
      ? DELETES_NOT[deletesNot]
      : `the list cannot be trusted (${deletesNot?.join(', ')}), so a walk would delete nothing`;
  const { gone, staying, contradicting, touched, knownDeadLetters: known } = counts;
  const sentences = [
    'Nothing was written.',
    stopsWalk !== null && `A walk would stop the source (TOO_MANY_DEAD_LETTERS): ${stopsWalk}`,
    `The list of source ${source} has ${counted(rows, 'row')}, ${topic} holds ${counted(held, 'instrument')}.`,
    gone > 0 &&
      (deletes
        ? `A walk would delete ${countText(gone)}; none if the list seems to lag behind the events then.`
        : `Only the topic has ${counted(gone, 'instrument')}: ${why}.`),
    staying > 0 && stayingText(staying),
    contradicting > 0 &&
      `${counted(contradicting, 'row')} of instruments with recent events ${contradicting === 1 ? 'differs' : 'differ'}: they changed meanwhile, or the list lags. A walk first reads the stream, and then can tell.`,
    touched > 0 && `The stream writes ${counted(touched, 'instrument')} that changed meanwhile; a walk does not.`,
    !isSettled &&
      `More than ${countText(MOST_SUSPECTS)} instruments differ. Some may be changes that the stream still writes.`,
    known > 0 && `${counted(known, 'row')} ${known === 1 ? 'is a dead letter' : 'are dead letters'} already.`,
  ];
  return `${sentences.filter((sentence) => sentence !== false).join(' ')}\n`;
}

interface PlanRequest extends Pick<ComparisonOptions, 'source' | 'settle' | 'onProgress'> {
  readonly allowShrink: number | null;
  readonly ids: number;
}

/**
 * Compares the list with the topic and verifies the end of the list, as a walk does. Fences no writer and joins no
 * group. `touched`: the number of instruments that the stream changed meanwhile; a walk does not write these.
 * `knownDeadLetters`: rows that are dead letters already. `gone`, `staying`: see `compareList`.
 */
async function planWalk(at: Installation, session: ProviderSession, request: PlanRequest) {
  const { source, allowShrink, ids: most, settle, onProgress } = request;
  const dead = new KnownDeadRows();
  await readKnownDeadRows(dead, {
    reader: at.kafka.logReader,
    topic: at.topics['dead-letters'],
    source: source.name,
    targetTopic: topicOf(at.settings, source.topics.instruments),
    eventsTopic: topicOf(at.settings, source.topics['instrument-events']),
    clock: at.clock,
    signal: at.signal,
  });
  const suspects = new Map<bigint, { readonly kind: PlannedKind; readonly before: bigint | null }>();
  const suspect = (id: bigint, kind: PlannedKind, census: Census) => {
    if (suspects.size <= MOST_SUSPECTS) suspects.set(id, { kind, before: census.digestOf(id) });
  };
  let knownDeadLetters = 0;
  const comparison = await compareList(at, session, {
    source,
    asWalk: true,
    settle,
    onProgress,
    onRow(difference, row, census) {
      if (row.kind === 'failure' && dead.isKnown(row)) knownDeadLetters += 1;
      else if (row.key !== null) suspect(BigInt(row.key), difference, census);
    },
  });
  const { committed, topic, provider, census, held, counts, flaws, lastId, settled, digestOf } = comparison;
  for (const kind of ['gone', 'staying'] as const) for (const id of comparison[kind]) suspect(id, kind, census);
  const isSettled = suspects.size <= MOST_SUSPECTS;
  const behind = await idsBehind((after) => session.patiently(() => provider.page(after, at.signal)), lastId);
  const again = new Set([...(isSettled ? suspects.keys() : []), ...(behind ?? [])]);
  const newest = again.size > 0 ? await settled(again) : new Map<bigint, Buffer | null>();
  const isTouched = async (id: bigint, before: bigint | null) => (await digestOf(newest.get(id) ?? null)) !== before;
  let isCut = behind === null;
  // The list was cut if rows follow the last row that was read. As in a walk, a row that the stream wrote does not count.
  for (const id of behind ?? []) isCut ||= !(await isTouched(id, census.digestOf(id)));
  if (isCut) flaws.add('rowsBehindTheEnd');
  const touched = new Set<bigint>();
  const { added, corrected, reEncoded, unchanged, contradicting, rows } = counts;
  const deadLetters = counts.deadLetters - knownDeadLetters;
  const [gone, staying] = [comparison.gone.length, comparison.staying.length];
  const planned = { added, corrected, reEncoded, deadLetters, gone, staying };
  const ids: Record<PlannedKind, string[]> = {
    ...{ added: [], corrected: [], reEncoded: [], deadLetters: [] },
    ...{ gone: [], staying: [] },
  };
  for (const [id, { kind, before }] of suspects) {
    if (isSettled && (await isTouched(id, before))) {
      touched.add(id);
      planned[kind] -= 1;
    } else if (ids[kind].length < most) ids[kind].push(String(id));
  }
  // If too many instruments differ, `suspects` is incomplete. But operators need the ids to delete before `--allow-shrink`.
  if (!isSettled)
    for (const kind of ['gone', 'staying'] as const) ids[kind] = comparison[kind].slice(0, most).map(String);
  const sweep = planSweep({
    offset: { walk: (committed?.walk ?? 0) + 1, counts, walkAllowShrink: allowShrink, walkResumed: false },
    flaws,
    touched,
    census,
    settings: { ...source, shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED },
  });
  const [refusal] = sweep.notifications;
  const repeats = committed !== null && committed.again !== null;
  const deletes = source.tombstones && !repeats && sweep.outcome === 'gone';
  const refused = repeats ? ('repeats' as const) : refusal?.kind === 'shrinkRefused' ? refusal.why : [...flaws];
  return {
    source: source.name,
    topic: topic.name,
    rows,
    held,
    counts: { ...planned, unchanged, contradicting, touched: touched.size, knownDeadLetters },
    deletes,
    deletesNot: deletes ? null : source.tombstones ? refused : ('tombstonesOff' as const),
    ids,
    isSettled,
    stopsWalk: comparison.stopsWalk,
  };
}
