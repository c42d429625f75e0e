import { counted, countText } from '../admin/texts.ts';
import { topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { recordDigest } from '../records/avro/record-digest.ts';
import type { ReadableRecord, ReadableValue } from '../records/avro/record-reader.ts';
import { pointerStep } from '../records/json/json-value.ts';
import { atInstallation, type Installation } from '../run/installation.ts';
import { plannedTopics } from '../run/planned-topics.ts';
import { rowFacts } from '../sources/tasks/instrument-records.ts';
import type { InstrumentsProvider } from '../sources/tasks/instruments-provider.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../sources/walk/instruments-messages.ts';
import { mayDelete, withMargin } from '../sources/walk/sweep.ts';
import { knownSource, loadWholeSettings } from './command-settings.ts';
import { type ComparisonOptions, compareList, idsBehind, MOST_SUSPECTS, stayingText } from './list-comparison.ts';
import { atProvider, type ProviderSession, sessionReader } from './provider-session.ts';
import { commandProgress, print, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

const LONGEST_VALUE = 60;
const TOO_MANY = 'a walk does not delete so many without --allow-shrink';

export async function auditCommand(
  context: CommandContext,
  { settle }: { readonly settle?: number },
  name: string | undefined,
): Promise<void> {
  const { stderr, signal, exitWith, refuse } = context;
  const settings = await loadWholeSettings(context);
  const all = settings.sources.filter((source) => source.type === 'instruments');
  if (all.length === 0) refuse('the settings enable no instruments source.');
  const progress = commandProgress(stderr, 10_000);
  const reports: AuditReport[] = [];
  for (const source of name === undefined ? all : [knownSource(context, name, all, 'instruments source')]) {
    const request = { source, settle, onProgress: progress.show };
    const compared = plannedTopics(settings, [topicOf(settings, source.topics.instruments)]);
    const report = await atInstallation({ settings, signal, needs: ['offsets', ...compared] }, (at) =>
      atProvider(at, (session) => audit(at, session, request)),
    ).finally(progress.end);
    reports.push(report);
  }
  const rows = reports.flatMap(rowsOf);
  print(context, reports, rows.length === 0 ? '' : textTable([['source', 'instrument', 'found', 'field'], ...rows]));
  for (const report of reports) stderr.write(summaryOf(report));
  if (
    reports.some(
      ({ differences, withoutId, stopsWalk, isCut }) =>
        differences.length + withoutId > 0 || stopsWalk !== null || isCut,
    )
  )
    exitWith(EXIT_CODES.failed);
}

const MEANINGS = {
  missing: 'the list has the instrument, the topic does not',
  different: 'the list and the topic differ in the fields above',
  extra: 'only the topic has the instrument',
} as const;

const SHOWN_INSTRUMENTS = 100;
const SHOWN_FIELDS = 5;

function rowsOf({ source, differences }: AuditReport): string[][] {
  return differences.slice(0, SHOWN_INSTRUMENTS).flatMap(({ id, kind, fields }) => {
    const texts = fields
      .slice(0, SHOWN_FIELDS)
      .map(
        ({ pointer, provider, topic }) => `${pointer}: the provider has ${short(provider)}, the topic ${short(topic)}`,
      );
    if (fields.length > SHOWN_FIELDS) texts.push(`and ${counted(fields.length - SHOWN_FIELDS, 'other field')}`);
    return (texts.length === 0 ? [''] : texts).map((text) => [source, id, kind, text]);
  });
}

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

function summaryOf(report: AuditReport): string {
  const { source, topic, rows, unmapped, withoutId, differences, left, staying, walks, unsettled } = report;
  const { unreadSince, remainsBecause, later, stopsWalk, isCut } = report;
  const meanings = { ...MEANINGS, extra: [MEANINGS.extra, ...remainsBecause].join('; ') };
  const kinds = Object.entries(meanings).flatMap(([kind, meaning]) => {
    const count = differences.filter((one) => one.kind === kind).length;
    return count === 0 ? [] : [{ kind, meaning, count }];
  });
  const totals = kinds.map(({ kind, count }) => `${count} ${kind}`).join(', ');
  const extra = kinds.find(({ kind }) => kind === 'extra')?.count ?? 0;
  const allowed = remainsBecause.includes(TOO_MANY) ? ` --allow-shrink ${withMargin(extra)}` : '';
  const lines = [
    `Compared ${topic} with the list of source ${source} (${counted(rows, 'row')}): ${totals || 'no differences'}.`,
    ...kinds.map(({ kind, meaning }) => `${kind}: ${meaning}.`),
    (differences.length > SHOWN_INSTRUMENTS || differences.some(({ fields }) => fields.length > SHOWN_FIELDS)) &&
      'The table is shortened; --output json has all differences.',
    left.length > 0 &&
      `${counted(left.length, 'instrument')} left the list. This does not count as a difference. ${whenDeleted(walks)}`,
    staying.length > 0 && stayingText(staying.length),
    unmapped > 0 &&
      `${counted(unmapped, 'row')} could not be mapped and compared: see spconnect dead-letters list and spconnect preview ${source}.`,
    stopsWalk !== null && `A walk would stop the source (TOO_MANY_DEAD_LETTERS): ${stopsWalk}`,
    withoutId > 0 &&
      `${counted(withoutId, 'row')} without a readable id: the audit did not look for instruments that left the list.`,
    isCut &&
      'The list has more rows after its last page: the audit is not complete, and did not look for instruments that left the list.',
    unsettled.length > 0 &&
      `${counted(unsettled.length, 'instrument')} changed during the audit and could not be compared.`,
    kinds.length > 0 &&
      unreadSince !== null &&
      `The committed offset of source ${source} dates from ${unreadSince}. If the connector is stopped or behind, ` +
        'it may only have to read its stream first.',
    later.length > 0 &&
      `An event of the last 90 minutes wrote ${countText(later.length)} of the missing or different ones. Such an ` +
        'instrument is corrected by its next event, or by the first walk that begins more than 90 minutes after the event.',
    differences.length > later.length &&
      `To correct the topic, request a walk, and audit again when it is done: spconnect walk ${source}${allowed}`,
  ];
  return lines.flatMap((line) => (line === false ? [] : [`${line}\n`])).join('');
}

function whenDeleted(walks: WalkTimes | null): string {
  if (walks === null) return 'The source deletes nothing.';
  const { startedAt, nextAt, isRunning, repeats } = walks;
  if (repeats) return 'The stream repeats earlier events, and no walk deletes anything before that ends.';
  if (isRunning) return `The last walk started at ${startedAt} and has not ended.`;
  const next = `The last walk started at ${startedAt}. The next begins at ${nextAt}, or on request.`;
  return `${next} If the list is complete, that walk deletes instruments that no recent event names.`;
}

interface AuditDifference {
  readonly id: string;
  /** `extra`: only the topic has the instrument, although a walk should have deleted it. `remainsBecause` says why. */
  readonly kind: keyof typeof MEANINGS;
  readonly fields: ReturnType<typeof fieldDifferences>;
}

type AuditReport = Awaited<ReturnType<typeof audit>>;

type AuditRequest = Pick<ComparisonOptions, 'source' | 'settle' | 'onProgress'>;

/** The instruments to compare again, by id. Value: the list's record in wire format; null if the list has no row. */
type Suspects = Map<bigint, Buffer | null>;

const ROUNDS = 3;

/**
 * Compares list and topic. Then gives the connector time to write recent changes, and compares each difference again.
 * Reports a difference that remains, if the provider's value has not changed meanwhile.
 *
 * @throws ConnectorError TOO_MANY_DIFFERENCES, or an error of the provider's client, the registry or Kafka.
 */
async function audit(at: Installation, session: ProviderSession, { source, settle, onProgress }: AuditRequest) {
  const { clock } = at;
  let suspects: Suspects = new Map();
  const suspect = (id: bigint, value: Buffer | null): void => {
    if (suspects.size >= MOST_SUSPECTS) {
      throw new ConnectorError(
        'TOO_MANY_DIFFERENCES',
        `More than ${MOST_SUSPECTS} instruments differ between list and topic, so the audit stopped. Perhaps the connector ` +
          'is behind, no walk has been completed, or the topic holds another list.',
      );
    }
    suspects.set(id, value);
  };
  const comparison = await compareList(at, session, {
    source,
    asWalk: false,
    settle,
    onProgress,
    onRow(difference, row) {
      if (row.kind === 'record' && difference !== 'reEncoded') suspect(row.id, row.value);
    },
  });
  const { committed, topic, provider, digestOf, read, settled, census, counts } = comparison;
  const { withoutId, gone, staying, unreadSince, stopsWalk } = comparison;
  // An instrument of the topic behind the last page shows that the list was cut. Others may be newer than the last page.
  const behind = await idsBehind(
    (after) => session.patiently(() => provider.page(after, at.signal)),
    comparison.lastId,
  );
  const isCut = behind === null || [...behind].some((id) => census.digestOf(id) !== null);
  // A row without a readable id may belong to any instrument in `gone` or `staying`. Then none of them is suspected.
  if (withoutId === 0 && !isCut) for (const id of [...gone, ...staying]) suspect(id, null);
  const walks = committed && walksOf(committed);
  const providerReader = sessionReader('Instrument');
  const differenceOf = async (id: bigint, row: Buffer | null, onTopic: Buffer | null): Promise<AuditDifference> => {
    if (onTopic === null) return { id: String(id), kind: 'missing', fields: [] };
    if (row === null) return { id: String(id), kind: 'extra', fields: [] };
    const fields = fieldDifferences(providerReader.read(row), await read(onTopic));
    return { id: String(id), kind: 'different', fields };
  };
  const found: AuditDifference[] = [];
  for (let round = 1; round <= ROUNDS && suspects.size > 0; round++) {
    const newest = await settled(suspects);
    const rows = await rowsAgain(session, provider, suspects);
    const unsettled: Suspects = new Map();
    for (const [id, before] of suspects) {
      const row = rows.get(id) ?? null;
      if (row === 'unmapped') continue;
      const onTopic = newest.get(id) ?? null;
      const [wasDigest, isDigest] = [digestIn(before), digestIn(row)];
      const topicDigest = await digestOf(onTopic);
      if (topicDigest === wasDigest || topicDigest === isDigest) continue;
      if (wasDigest !== isDigest) unsettled.set(id, row);
      else found.push(await differenceOf(id, row, onTopic));
    }
    suspects = unsettled;
  }
  const inOrder = found.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  const extra = inOrder.filter(({ kind }) => kind === 'extra').map(({ id }) => id);
  const named = new Set(staying.map(String));
  const left = extra.filter((id) => !named.has(id));
  const isOnlyNamed = left.length === 0 || !source.tombstones;
  const remainsBecause = isOnlyNamed ? [] : reasons(left.length, census.size, source.maxShrink, walks, clock.wallMs());
  const isGoing = remainsBecause.length === 0;
  const isWritten = (id: string) => census.reportedAgeMs(BigInt(id)) !== null;
  return {
    source: source.name,
    topic: topic.name,
    rows: counts.rows,
    unmapped: counts.deadLetters,
    withoutId,
    differences: inOrder.filter(({ id, kind }) => kind !== 'extra' || !(isGoing || named.has(id))),
    left: isGoing ? left : [],
    remainsBecause,
    later: inOrder.filter(({ id, kind }) => kind !== 'extra' && isWritten(id)).map(({ id }) => id),
    staying: extra.filter((id) => named.has(id)),
    unreadSince,
    stopsWalk,
    isCut,
    walks: source.tombstones ? walks : null,
    unsettled: [...suspects.keys()].map(String),
  };
}

/** The last walk and the next walk. `withoutDeletion`: consecutive walks that could not decide what to delete. */
function walksOf(committed: NonNullable<Awaited<ReturnType<typeof compareList>>['committed']>) {
  const { walk, walkStartedOwnMs, walkPending: isRunning, walkIntervalMs: intervalMs, again } = committed;
  const { walksWithoutDeletion: withoutDeletion } = committed;
  const [startedAt, nextAt] = [walkStartedOwnMs, walkStartedOwnMs + intervalMs].map((ms) => new Date(ms).toISOString());
  return { walk, startedAt, isRunning, nextAt, intervalMs, withoutDeletion, repeats: again !== null };
}

type WalkTimes = ReturnType<typeof walksOf>;

/** The reasons why the next walk does not delete the instruments that left the list, or deletes them too late. */
function reasons(left: number, held: number, maxShrink: number, walks: WalkTimes | null, nowMs: number): string[] {
  const { nextAt = '', intervalMs = 0, withoutDeletion = 0 } = walks ?? {};
  const found = [
    !mayDelete(left, held, { maxShrink, shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED }) && TOO_MANY,
    walks === null && 'the source has no readable committed offset',
    nowMs > Date.parse(nextAt) + intervalMs && `a walk has been due since ${nextAt}`,
    // A walk that was interrupted and resumed cannot decide about deletions. So one such walk is normal.
    withoutDeletion > 1 && `the last ${withoutDeletion} walks could not decide what to delete`,
  ];
  return found.filter((reason) => reason !== false);
}

/** Reads the list again. Returns the records of the suspects that it has; `unmapped` if the row is a dead letter. */
async function rowsAgain(session: ProviderSession, provider: InstrumentsProvider, suspects: Suspects) {
  const found = new Map<bigint, Buffer | 'unmapped'>();
  for await (const { decoded } of session.pages(provider)) {
    for (const [at, { id }] of rowFacts(decoded.rows).entries()) {
      const row = decoded.rows[at];
      if (id !== null && suspects.has(id)) found.set(id, row?.kind === 'record' ? row.value : 'unmapped');
    }
  }
  return found;
}

function digestIn(value: Buffer | null): bigint | null {
  return value === null ? null : recordDigest(value);
}

const MOST_FIELDS = 200;

/** The fields in which the records differ, at most `MOST_FIELDS`. An absent field counts as null. */
function fieldDifferences(provider: ReadableRecord, topic: ReadableRecord) {
  const found: { readonly pointer: string; readonly provider: ReadableValue; readonly topic: ReadableValue }[] = [];
  const compare = (pointer: string, ours: ReadableValue, theirs: ReadableValue): void => {
    if (found.length >= MOST_FIELDS || ours === theirs) return;
    if (!isBranch(ours) || !isBranch(theirs) || Array.isArray(ours) !== Array.isArray(theirs)) {
      found.push({ pointer, provider: ours, topic: theirs });
      return;
    }
    const [left, right] = [new Map(Object.entries(ours)), new Map(Object.entries(theirs))];
    for (const name of new Set([...left.keys(), ...right.keys()])) {
      compare(`${pointer}${pointerStep(name)}`, left.get(name) ?? null, right.get(name) ?? null);
    }
  };
  compare('', provider, topic);
  return found;
}

function isBranch(value: ReadableValue): value is ReadableRecord | readonly ReadableValue[] {
  return value !== null && typeof value === 'object';
}
