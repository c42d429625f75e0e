import { SOURCE_WORDS } from '../../config/groups/sources.ts';
import type { DescribedMember } from '../../kafka/cluster.ts';
import { RETENTION_MS } from '../../sources/stream/retention-gap.ts';
import type { AgeStep, Share } from '../drawing/charts.ts';
import { ago, counted, countText, durationText, secondsBetween, timeText } from '../texts.ts';
import type {
  Notified,
  ProcessorStatus,
  ShownKind,
  SourceStatus,
  TaskState,
  WalkStatus,
  Whole,
  WholeStatus,
} from './status.ts';

/** The colour of a text. The text is complete without the colour. */
export type Level = 'good' | 'wait' | 'bad' | 'plain';

export interface Fact {
  readonly label: string;
  readonly value: string;
  readonly level?: Level;
  /** The instant whose age is `value`. */
  readonly at?: string | null;
  readonly share?: Share | null;
  readonly command?: string;
}

export interface Item {
  readonly level: Level;
  readonly label: string;
  readonly text: string;
  readonly at?: string;
}

export type Chart =
  | { readonly title: string; readonly perMinute: readonly number[] }
  | { readonly title: string; readonly text: string; readonly ages: readonly AgeStep[] };

export interface Card {
  readonly name: string;
  readonly about: string;
  readonly state: string;
  readonly level: Level;
  readonly age: string;
  readonly notes: readonly Item[];
  readonly facts: readonly Fact[];
  readonly charts: readonly Chart[];
}

/** The status in words. The status page and the terminal show the same words in different layouts. */
export interface StatusView {
  readonly title: string;
  readonly ready: Item;
  readonly about: string;
  readonly alarms: readonly Item[];
  readonly summary: string;
  readonly cards: readonly Card[];
  /** The readiness checks; failed checks come first. */
  readonly checks: readonly Item[];
  readonly notifications: readonly Item[];
}

export function viewOf(status: WholeStatus): StatusView {
  const { prefix, version, ready, at, startedAt, alarms, checks, sources, processor, notifications } = status;
  const fleet = fleetOf(status);
  // Failed sources come first, then retrying sources, then the others, in the order of the settings.
  const urgent = [...sources].sort((a, b) => urgency(a) - urgency(b));
  return {
    title: prefix,
    ready: { level: ready ? 'good' : 'bad', label: ready ? 'ready' : 'not ready', text: '' },
    about: `version ${version}, up ${durationText(secondsBetween(startedAt, at))}`,
    alarms: alarms.map(({ isGrave, text }) => ({ level: isGrave ? 'bad' : 'wait', label: '', text })),
    summary: [summary(status), ...(fleet?.lines ?? [])].join('; '),
    cards: [
      ...urgent.map((source) => sourceCard(source, status, fleet)),
      ...(processor === null ? [] : [processorCard(processor, status, fleet)]),
    ],
    checks: [...checks]
      .sort((a, b) => Number(a.ok) - Number(b.ok))
      .map(({ name, ok, why }) => ({ level: ok ? 'good' : 'bad', label: ok ? 'ok' : 'no', text: `${name}: ${why}` })),
    notifications: notifications.map(({ kind, source, text, at: when }) => {
      const [name, level] = KINDS[kind];
      return { level, label: `${name}: ${source}`, text, at: when };
    }),
  };
}

const KINDS: Readonly<Record<Notified['kind'], readonly [text: string, level: Level]>> = {
  walkCompleted: ['walk completed', 'good'],
  windowsMissed: ['windows missed', 'wait'],
  gapSuspected: ['retention gap suspected', 'wait'],
  gapCertain: ['retention gap', 'bad'],
  gapProven: ['retention gap', 'bad'],
  streamBehind: ['provider behind', 'wait'],
  streamReset: ['stream reset', 'bad'],
  offsetReset: ['offset reset', 'wait'],
  shrinkRefused: ['shrink refused', 'bad'],
  deletionSkipped: ['deletion skipped', 'wait'],
  deletionsStandStill: ['deletions suspended', 'bad'],
  walkGivenUp: ['walk given up', 'wait'],
  topicReplaced: ['topic replaced', 'wait'],
  listLags: ['list lags behind the stream', 'bad'],
  sourceFailed: ['source failed', 'bad'],
};

export const WAITING = 'waiting for Kafka';

const STATE_LEVELS: Readonly<Record<TaskState | 'stopped' | typeof WAITING, Level>> = {
  running: 'good',
  paused: 'wait',
  stopped: 'wait',
  failed: 'bad',
  unassigned: 'plain',
  [WAITING]: 'wait',
};

function isOfOthers(shown: SourceStatus | ProcessorStatus): boolean {
  return 'owned' in shown && shown.owned === false;
}

/**
 * The state for people. A task that an operator has stopped is shown as stopped, not as unassigned; so is a task of
 * another replica that an operator has paused. Without Kafka it is unknown if another replica has an unassigned source.
 */
export function stateIn(shown: SourceStatus | ProcessorStatus, { kafkaIsSilent }: Pick<Now, 'kafkaIsSilent'>) {
  const isOthers = isOfOthers(shown);
  const isShownAsWanted =
    shown.task !== 'failed' && (shown.wanted === 'stopped' || (isOthers && shown.wanted === 'paused'));
  const state = isShownAsWanted ? shown.wanted : shown.task;
  return kafkaIsSilent && state === 'unassigned' && !isOthers ? WAITING : state;
}

function urgency({ task, trouble }: SourceStatus): number {
  if (task === 'failed') return 0;
  return trouble === null ? 2 : 1;
}

function summary({ sources, ...now }: WholeStatus): string {
  const states = [...Map.groupBy(sources, (source) => stateIn(source, now))]
    .map(([state, some]) => `${some.length} ${state}`)
    .join(', ');
  return `${counted(sources.length, 'source')}: ${states || 'none runs in this process'}`;
}

/** A retry with a longer wait names the command that ends the wait. */
const LONG_WAIT_SECONDS = 60;

type Now = Pick<WholeStatus, 'at' | 'kafkaIsSilent' | 'kafkaSilentSeconds'>;

function heading(shown: SourceStatus | ProcessorStatus, { at, kafkaIsSilent, kafkaSilentSeconds }: Now) {
  const { name, changedAt, trace, trouble, otherTrouble, writerTrouble } = shown;
  const state = stateIn(shown, { kafkaIsSilent });
  const waits = state === 'running' && (kafkaIsSilent ? WAITING : trouble && 'retrying');
  const words = [state.toUpperCase(), waits || []].flat().join(', ');
  const isWriterLost =
    writerTrouble !== null && !kafkaIsSilent && shown.task !== 'failed' && shown.wanted !== 'stopped';
  const level = waits || (state === 'running' && isWriterLost) ? 'wait' : STATE_LEVELS[state];
  const notes: Item[] = [];
  if (trace !== null) notes.push({ level: 'bad', label: 'Failed', text: trace });
  // While Kafka is silent, the silence is the cause of each failure.
  for (const one of [trouble, otherTrouble]) {
    if (one === null || kafkaIsSilent) continue;
    const { failures, part, message, restartTriesNow } = one;
    const waitSeconds = secondsBetween(at, one.nextTryAt);
    // A short membership or the answers of other kinds can stand between the failures of prices.
    const inARow = 'owned' in shown ? ' in a row' : '';
    const row = `${counted(failures, 'failure')}${inARow}${part === null ? '' : ` (${part})`}`;
    const isLong = restartTriesNow && waitSeconds > LONG_WAIT_SECONDS;
    const hint = isLong ? `; spconnect restart ${name} tries now` : '';
    // A kind of prices also makes calls for other products meanwhile.
    const atMost = 'owned' in shown ? '' : ' at the latest';
    const next = waitSeconds === 0 ? 'the next try is due' : `next try in ${durationText(waitSeconds)}${atMost}${hint}`;
    const text = `${row}, ${next}.\n${message}`;
    notes.push({ level: 'wait', label: 'Retrying', text });
  }
  if (isWriterLost) {
    notes.push({ level: 'wait', label: 'Writer', text: `The writer is being opened again: ${writerTrouble}` });
  }
  const [retriedAt] = waits ? [trouble, otherTrouble].flatMap((one) => one?.since ?? []).sort() : [];
  const isWaiting = [state, waits].includes(WAITING);
  const since = `for ${durationText(isWaiting ? kafkaSilentSeconds : secondsBetween(retriedAt ?? changedAt, at))}`;
  const lastAt = 'lastPollAt' in shown ? shown.lastPollAt : shown.lastBatchAt;
  // Only the process in which the task ran knows since when it rests.
  const age = state === shown.wanted && state !== 'running' && lastAt === null ? 'as requested' : since;
  return { name, state: words, level, age, notes };
}

function fact(label: string, value: string, level: Level = 'plain'): Fact {
  return { label, value, level };
}

function sinceFact(label: string, at: string | null, now: string): Fact {
  return { label, at, value: at === null ? 'none yet' : ago(at, now) };
}

/** Dead letters of repaid products are normal. `command` lists these dead letters too. */
function deadLetters(count: number, source: string, ofRepaid = 0): Fact {
  if (count + ofRepaid === 0) return fact('Dead letters', '0');
  const command = `spconnect dead-letters list --source ${source} --since 1d`;
  const value = `${countText(count)}${ofRepaid === 0 ? '' : `, and ${countText(ofRepaid)} of repaid products`}`;
  return { ...fact('Dead letters', value, count === 0 ? 'plain' : 'wait'), command };
}

/** If unread events expire in less than this time, an operator must correct the source soon. */
const CLIFF_IS_NEAR_SECONDS = 86_400;
const RETENTION_SECONDS = RETENTION_MS / 1_000;

function sourceCard(source: SourceStatus, status: Now, fleet: Fleet | null): Card {
  const { name, type, owned, task, lastPollAt, perMinute } = source;
  const head = { ...heading(source, status), about: `source of type ${type}` };
  if (owned === false) {
    const text = status.kafkaIsSilent
      ? `Its partition belonged to another replica at ${answeredAtText(status)}.`
      : 'Its partition belongs to another replica, which shows its state.';
    return {
      ...head,
      notes: [...head.notes, { level: 'plain', label: '', text }],
      facts: fleet?.of(name) ?? [],
      charts: [],
    };
  }
  if (task === 'unassigned' && lastPollAt === null) return { ...head, facts: [], charts: [] };
  const { item } = SOURCE_WORDS[type];
  const title = `${item.slice(0, 1).toUpperCase()}${item.slice(1)}s a minute`;
  return { ...head, facts: sourceFacts(source, status.at), charts: [{ title, perMinute }] };
}

function answeredAtText({ at, kafkaSilentSeconds }: Now): string {
  return timeText(new Date(Date.parse(at) - kafkaSilentSeconds * 1_000).toISOString(), at);
}

function sourceFacts(source: SourceStatus, now: string): readonly Fact[] {
  const { name, type, lastPollAt, refusedAt, written, since, walk, trouble, wanted } = source;
  const streamed = counted(written.items, SOURCE_WORDS[type].item);
  const records = type === 'instruments' ? `${counted(written.instruments, 'instrument')}, ${streamed}` : streamed;
  return [
    streamFact(source, now),
    // An operator may change the offset of a stopped source.
    ...(since === null ? [] : [fact(wanted === 'stopped' ? 'Offset at its stop' : 'Offset', since)]),
    refusedAt === null
      ? sinceFact(trouble?.part === null && lastPollAt !== null ? 'Last good poll' : 'Last poll', lastPollAt, now)
      : fact('Last poll', 'refused', 'wait'),
    ...cliffFacts(source),
    ...(walk === null ? [] : [walkFact(walk, now)]),
    ...(walk?.refused ? [fact('Not deleted', walk.refused, 'bad')] : []),
    ...nextWalkFacts(source, now),
    fact('Written', records),
    deadLetters(written.deadLetters, name),
  ];
}

/** A walk begins with a response of the stream, so no walk begins while the stream fails or its offset is refused. */
function nextWalkFacts({ task, isRead, secondsToNextWalk: next, trouble }: SourceStatus, now: string): readonly Fact[] {
  if (next === null || task !== 'running') return [];
  const retryIn = trouble?.part === null ? secondsBetween(now, trouble.nextTryAt) : null;
  if (isRead && next > 0) return [fact('Next walk', `in ${durationText(next)}`)];
  const earliest = Math.max(next, retryIn ?? 0);
  const from = earliest > 0 ? `, at the earliest in ${durationText(earliest)}` : '';
  return [fact('Next walk', `with the next response of the stream${from}`)];
}

/** A stream counts as caught up for this time after its end was read, because not every response of a busy stream reaches the end. */
const BEHIND_AFTER_SECONDS = 30;

function streamFact(source: SourceStatus, now: string): Fact {
  const { caughtUp: is, caughtUpAt: at, isRead, since, providerEndsAt, refusedAt } = source;
  const time = (instant: string) => timeText(instant, now);
  const stream = (text: string) => fact('Stream', text, is === false || refusedAt !== null ? 'wait' : 'plain');
  if (refusedAt !== null && source.task === 'running')
    return stream(`the provider has refused the offset since ${time(refusedAt)}`);
  if (refusedAt !== null) return stream(`the provider refused the offset, at first at ${time(refusedAt)}`);
  if (providerEndsAt !== null && isRead)
    return stream(`the provider's stream ends at ${providerEndsAt}, before our offset ${since}`);
  const isLately = isRead && at !== null && secondsBetween(at, now) < BEHIND_AFTER_SECONDS;
  if (is === true || isLately) return fact('Stream', 'caught up');
  const length = at === null ? 'yet' : `for ${durationText(secondsBetween(at, now))}`;
  if (is === false) return stream(`not read to its end ${length}`);
  return stream(at === null ? 'not known yet' : `caught up as of ${time(at)}`);
}

function cliffFacts({ type, secondsToRetentionCliff: seconds, isRead, wanted }: SourceStatus): readonly Fact[] {
  if (seconds === null) return [];
  const items = `${SOURCE_WORDS[type].item}s`;
  const value = seconds < 0 ? `${items} may be lost` : `unread ${items} are kept for ${durationText(seconds)}`;
  const isNear = seconds < CLIFF_IS_NEAR_SECONDS;
  const look = { title: 'Time to the retention cliff', text: `${value}, of 7 d`, share: seconds / RETENTION_SECONDS };
  const level = isNear ? 'bad' : isRead ? 'good' : 'plain';
  const label = wanted === 'stopped' ? 'Retention of this offset' : 'Retention';
  return [{ ...fact(label, value, isNear ? 'bad' : 'plain'), share: { ...look, level } }];
}

function walkFact(walk: WalkStatus, now: string): Fact {
  const { number, running, pages, rows, startedAt, listAt, completedAt, gone, expectedRows } = walk;
  const ends = gone === null && expectedRows ? expectedRows : null;
  const done = ends === null ? counted(rows, 'row') : `${countText(rows)} of about ${counted(ends, 'row')}`;
  const size = `${done} in ${counted(pages, 'page')}`;
  if (!running && gone !== null) {
    // It is unknown when an earlier process completed its walk.
    const when = completedAt === null ? `complete, begun ${ago(startedAt, now)}` : `completed ${ago(completedAt, now)}`;
    return fact('Walk', `no. ${number}: ${size}, ${countText(gone)} gone, ${when}`);
  }
  const waitS = running && listAt !== null ? secondsBetween(now, listAt) : 0;
  const waits =
    waitS > 0
      ? `, reads the list in ${durationText(waitS)} at the earliest, because the list may lag behind the stream`
      : '';
  const value = `no. ${number} ${running ? 'running' : 'not running'}: ${size}, started ${ago(startedAt, now)}${waits}`;
  if (ends === null) return fact('Walk', value);
  const share = { title: 'Progress of the walk', text: done, share: rows / ends, level: 'plain' } as const;
  return { ...fact('Walk', value), share };
}

function processorCard(processor: ProcessorStatus, status: Now, fleet: Fleet | null): Card {
  const { name, wanted, freshness, lastBatchAt, written, perMinute } = processor;
  const now = status.at;
  const kinds = freshness?.kinds ?? [];
  // The partitions may be lost meanwhile, but their counts stay.
  const asOf = status.kafkaIsSilent ? ` as of ${answeredAtText(status)}` : '';
  const nothing =
    wanted === 'running' ? 'not known until instruments are read' : 'none are requested until the processor is resumed';
  return {
    ...heading(processor, status),
    about: `price processor${status.kafkaIsSilent ? '' : `, ${partitionsText(processor)}`}`,
    facts: [
      ...(freshness === null
        ? [fact('Prices', nothing)]
        : [
            fact('Instruments', `${countText(freshness.instruments)}${asOf}`),
            ...(freshness.unreadable > 0 ? [fact('Unreadable', countText(freshness.unreadable), 'bad')] : []),
            ...kinds.flatMap((kind) => kindFacts(kind, kinds.length === 1 ? '' : ` ${kind.kind}`, now)),
            ...(kinds[0]?.kind === 'overview' ? [fact('Quoting pulled', countText(freshness.pulled))] : []),
            fact('Input lag', freshness.lag === null ? 'not known' : counted(freshness.lag, 'record')),
          ]),
      sinceFact('Last batch', lastBatchAt, now),
      fact('Written', counted(written.records, 'price')),
      deadLetters(written.deadLetters, name, written.deadLettersOfRepaid),
      ...(fleet?.of(name) ?? []),
    ],
    charts: [
      ...kinds.map((kind) => {
        const title = kinds.length === 1 ? 'Prices by age' : `Prices by age, ${kind.kind}`;
        return { title, text: agesText(kind), ages: kind.ages };
      }),
      { title: 'Prices a minute', perMinute },
    ],
  };
}

/** Counts partitions that are assigned but not ready, as after the loss of their writers. */
function partitionsText(processor: ProcessorStatus): string {
  const unready = assignedTo(processor) - processor.partitions.length;
  const here = `${counted(assignedTo(processor), 'partition')} of instruments here`;
  return unready === 0 ? here : `${here}, ${unready} not ready`;
}

function assignedTo({ task, partitions, assigned }: ProcessorStatus): number {
  return task === 'running' ? Math.max(assigned, partitions.length) : partitions.length;
}

const MOST_PROBLEMS = 5;

/** Each instrument has exactly one state. `suffix` names the kind if there are several kinds. */
function kindFacts(kind: ShownKind, suffix: string, now: string): readonly Fact[] {
  const { priced, waiting, repaid, overdue, lastFailure } = kind;
  // A large call can fail while its parts are answered, so no trouble shows it.
  const why = lastFailure === null ? '' : `; a call failed ${ago(lastFailure.at, now)} (${lastFailure.code})`;
  const problems = Object.entries(kind.failing).sort(([, a], [, b]) => b - a);
  const failing = problems.reduce((sum, [, instruments]) => sum + instruments, 0);
  const states = Object.entries({ priced, 'without an answer since the assignment': waiting, failing, repaid })
    .filter(([name, count]) => name === 'priced' || count > 0)
    .map(([name, count]) => `${countText(count)} ${name}`);
  const shown = problems.slice(0, MOST_PROBLEMS).map(([problem, count]) => `${problem}: ${countText(count)}`);
  return [
    fact(`Prices${suffix}`, states.join(', ')),
    fact(`Overdue${suffix}`, `${countText(overdue)}${overdue > 0 ? why : ''}`, overdue > 0 ? 'bad' : 'plain'),
    ...(failing > 0 ? [fact(`Failing${suffix}`, `${countText(failing)} (${shown.join(', ')})`)] : []),
  ];
}

function agesText({ ageP50Ms, ageP99Ms }: ShownKind): string {
  if (ageP50Ms === null || ageP99Ms === null) return 'none';
  return `half below about ${durationText(ageP50Ms / 1_000)}, 99 % below about ${durationText(ageP99Ms / 1_000)}`;
}

interface Fleet {
  /** For example `2 replicas share the prices; this one has 3 of 6 partitions`. */
  readonly lines: readonly string[];
  /** Returns facts about a source that another replica runs, or about the other replicas of the price processor. */
  of(name: string): readonly Fact[];
}

/** Null if this process is the only replica, or is not known to have others. */
function fleetOf({ whole, sources, processor, at, kafkaIsSilent }: WholeStatus): Fleet | null {
  const [running, pricing] = [whole?.sources ?? [], whole?.prices ?? []];
  if (whole === null && !kafkaIsSilent && sources.some(({ owned }) => owned === false)) {
    return { lines: ['the other replicas are not known: Kafka has not listed them in time'], of: () => [] };
  }
  if (whole === null || Math.max(running.length, pricing.length) < 2) return null;
  const own = sources.filter(({ owned }) => owned === true).length;
  const share = `this one has ${processor === null ? 0 : assignedTo(processor)} of ${counted(whole.pricedPartitions, 'partition')}`;
  const isOurs = ({ partitions }: DescribedMember) =>
    partitions.some(({ topic, partition }) =>
      processor?.partitions.some((one) => one.topic === topic && one.partition === partition),
    );
  return {
    lines: [
      ...(running.length > 1 && sources.length > 0
        ? [`${running.length} replicas share the sources; this one has ${own} of ${sources.length}`]
        : []),
      ...(pricing.length > 1 && processor !== null ? [`${pricing.length} replicas share the prices; ${share}`] : []),
    ],
    of(name) {
      const source = sources.find((one) => one.name === name);
      if (source !== undefined) {
        const holds = ({ partitions }: DescribedMember) =>
          partitions.some(({ partition }) => partition === source.partition);
        const offset = whole.offsets[name];
        return [
          { label: 'Assigned to', value: running.find(holds)?.host ?? 'not known' },
          ...(offset ? [{ label: 'Offset', value: offset }] : []),
        ];
      }
      if (pricing.length < 2) return [];
      // Without a ready partition, our own member looks like the others.
      const isKnown = processor !== null && (processor.partitions.length > 0 || assignedTo(processor) === 0);
      return [
        { label: 'Replicas', value: `${pricing.length}; ${share}` },
        ...(isKnown ? pricing : [])
          .filter((replica) => !isOurs(replica))
          .map((replica) => ({
            label: `At ${replica.host}`,
            value: pricedText(replica, whole, at),
          })),
      ];
    },
  };
}

/** Names the age of the newest price in the slowest partition, to show a partition without progress. */
function pricedText({ partitions }: DescribedMember, { prices, newestPrices }: Whole, now: string): string {
  const topics = new Set(prices?.flatMap((replica) => replica.partitions.map(({ topic }) => topic)));
  // Partition numbers distinguish replicas with the same address.
  const byTopic = [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, some]) => {
    const numbers = some.map(({ partition }) => partition).sort((a, b) => a - b);
    return topics.size > 1 ? `${topic} ${numbers.join(', ')}` : numbers.join(', ');
  });
  const size = `${counted(partitions.length, 'partition')}${byTopic.length === 0 ? '' : ` (${byTopic.join('; ')})`}`;
  const instants = partitions.map(({ partition }) => newestPrices[partition] ?? '').sort();
  const [oldest] = instants;
  if (oldest === undefined) return size;
  if (oldest === '') {
    const without = instants.filter((instant) => instant === '').length;
    return `${size}, ${without} without a price in the newest records`;
  }
  return `${size}, the newest price of each partition is at most ${durationText(Math.max(1, secondsBetween(oldest, now)))} old`;
}
