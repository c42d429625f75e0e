import { RETENTION_MS } from '../../sources/stream/retention-gap.ts';
import { minuteChart, shareBar } from '../drawing/charts.ts';
import { counted, countText } from '../drawing/counts.ts';
import { type Html, html } from '../drawing/html.ts';
import { ago, durationText } from './ages.ts';
import type { ProcessorStatus, ShownKind, SourceStatus, Status, TaskState, Trouble, WalkStatus } from './status.ts';

type ShownState = TaskState | 'stopped';

const BADGES: Readonly<Record<ShownState, string>> = {
  running: 'good',
  paused: 'wait',
  stopped: 'wait',
  failed: 'bad',
  unassigned: '',
};

/** The state of a source or the processor for people: stopped on request is not a missing task. */
export function shownState({ wanted, task }: Pick<SourceStatus, 'wanted' | 'task'>): ShownState {
  return task !== 'failed' && wanted === 'stopped' ? 'stopped' : task;
}

/** Whether it needs an operator: 0 for what has failed, 1 for what is retried, 2 for the others. */
export function urgency({ task, trouble }: Pick<SourceStatus, 'task' | 'trouble'>): number {
  if (task === 'failed') return 0;
  return trouble === null ? 2 : 1;
}

/** Of a status, beside the source or the processor: when it is, and whether Kafka answers. */
export type Now = Pick<Status, 'at' | 'kafkaIsSilent'>;

/** Name and state of a source or the processor. */
export function heading(
  shown: Pick<SourceStatus, 'name' | 'wanted' | 'task' | 'changedAt' | 'trouble'>,
  { at, kafkaIsSilent }: Now,
): Html {
  const state = shownState(shown);
  const waits = state !== 'running' ? '' : kafkaIsSilent ? ', waiting for Kafka' : shown.trouble ? ', retrying' : '';
  const seconds = (Date.parse(at) - Date.parse(shown.changedAt)) / 1_000;
  return html`<h3>${shown.name} <span class="badge ${waits ? 'wait' : BADGES[state]}">${state.toUpperCase()}${waits}</span><span class="soft">for ${length(seconds)}</span></h3>`;
}

/** What is wrong with it, the worst first. */
export function troubleNotes(
  { trace, trouble, writerTrouble }: Pick<SourceStatus, 'trace' | 'trouble' | 'writerTrouble'>,
  now: string,
): Html {
  const writer = writerTrouble === null ? null : note('wait', `The writer is being opened again: ${writerTrouble}`);
  return html`${trace === null ? null : note('bad', trace)}${trouble === null ? null : tries(trouble, now)}${writer}`;
}

function tries({ failures, message, nextTryAt }: Trouble, now: string): Html {
  const inSeconds = Math.max(0, (Date.parse(nextTryAt) - Date.parse(now)) / 1_000);
  return note('wait', `${failures} failures in a row, next try in ${length(inSeconds)}.\n${message}`);
}

function note(kind: 'bad' | 'wait' | '', text: string): Html {
  return html`<div class="note ${kind}">${text}</div>`;
}

export function fact(name: string, value: Html): Html {
  return html`<dt>${name}</dt><dd>${value}</dd>`;
}

/** With the command that shows them. */
export function deadLetters(count: number, source: string): Html {
  if (count === 0) return fact('Dead letters', html`0`);
  // An option is one word to the reader, so that no line breaks within it.
  const words = deadLettersCommand(source).split(' ');
  const command = words.map((word) => html`<span>${word}</span> `);
  return fact('Dead letters', html`<span class="badge wait">${countText(count)}</span> <code>${command}</code>`);
}

/** Shows the dead letters of a source, or of the processor. */
export function deadLettersCommand(source: string): string {
  return `spconnect dead-letters list --source ${source} --since 1d`;
}

export function whenOf(instant: string | null, now: string): Html {
  if (instant === null) return html`none yet`;
  return html`<time datetime="${instant}">${unbroken(ago(instant, now))}</time>`;
}

function length(seconds: number): string {
  return unbroken(durationText(seconds));
}

/** A duration is one unit to the reader, so that no line breaks within it. */
function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0');
}

/** Why nothing is said of the prices. */
export function noFreshnessText({ wanted }: Pick<ProcessorStatus, 'wanted'>): string {
  return wanted === 'running' ? 'not known until instruments are read' : 'none are requested until it is resumed';
}

/** Of the prices of one kind. */
export function agesText({ ageP50Ms, ageP99Ms }: Pick<ShownKind, 'ageP50Ms' | 'ageP99Ms'>): string {
  if (ageP50Ms === null || ageP99Ms === null) return 'none yet';
  return `half below ${durationText(ageP50Ms / 1_000)}, 99 % below ${durationText(ageP99Ms / 1_000)}`;
}

/** Below this there is little time left to correct what keeps the source from reading: a day. */
const CLIFF_IS_NEAR_SECONDS = 86_400;
const RETENTION_SECONDS = RETENTION_MS / 1_000;

/** A source: what it does, how far it is, what is wrong. */
export function sourceCard(source: SourceStatus, status: Now): Html {
  const { type, owned, task, lastPollAt } = source;
  const now = status.at;
  const isKnown = owned !== false && (task !== 'unassigned' || lastPollAt !== null);
  return html`<article class="card">${heading(source, status)}<div class="soft">source of type ${type}</div>
${troubleNotes(source, now)}${owned === false ? note('', 'Another replica runs it.') : null}
${isKnown ? facts(source, now) : null}</article>
`;
}

function facts(source: SourceStatus, now: string): Html {
  const { name, type, lastPollAt, written, since, walk, secondsToNextWalk, perMinute } = source;
  const areChecks = type === 'pre-trade-checks';
  const streamed = areChecks ? counted(written.checks, 'check') : counted(written.events, 'event');
  const records = type === 'instruments' ? `${counted(written.instruments, 'instrument')}, ${streamed}` : streamed;
  return html`<dl>
${fact('Stream', caughtUp(source))}
${since === null ? null : fact('Offset', html`${since}`)}
${fact('Last poll', whenOf(lastPollAt, now))}
${cliff(source)}
${walk === null ? null : fact('Walk', walkText(walk, now))}
${secondsToNextWalk === null ? null : fact('Next walk', html`${unbroken(nextWalkText(secondsToNextWalk))}`)}
${fact('Written', html`${records}`)}
${deadLetters(written.deadLetters, name)}
</dl>
${minuteChart(areChecks ? 'Checks a minute' : 'Events a minute', perMinute)}`;
}

function caughtUp(source: SourceStatus): Html {
  if (source.caughtUp === false) return html`<span class="badge wait">${caughtUpText(source)}</span>`;
  return source.caughtUp ? html`caught up` : html`<span class="soft">${caughtUpText(source)}</span>`;
}

/** Of the stream: `caught up`, `behind`, by how much the provider is behind us, or when it was lately caught up. */
export function caughtUpText(source: SourceStatus): string {
  const { caughtUp: is, caughtUpAt: at, since, providerEndsAt } = source;
  if (providerEndsAt !== null) return `the provider is behind us by ${providerEndsAt} to ${since}`;
  if (is !== null) return is ? 'caught up' : 'behind';
  return at === null ? 'not known yet' : `caught up as of ${at.slice(11, 19)} UTC`;
}

function cliff({ secondsToRetentionCliff: seconds, caughtUp: known }: SourceStatus): Html | null {
  if (seconds === null) return null;
  const text = seconds < 0 ? 'events may be lost' : `unread events are kept for ${length(seconds)}`;
  const isNear = seconds < CLIFF_IS_NEAR_SECONDS;
  const bar = shareBar({
    title: 'Time to the retention cliff',
    text: `${text}, of 7 d`,
    share: seconds / RETENTION_SECONDS,
    look: isNear ? 'bad' : known === null ? 'plain' : 'good',
  });
  return fact('Retention', html`${isNear ? html`<span class="badge bad">${text}</span>` : html`${text}`}${bar}`);
}

function walkText(walk: WalkStatus, now: string): Html {
  const { number, running, pages, rows, startedAt, completedAt, gone } = walk;
  const size = `${counted(rows, 'row')} in ${counted(pages, 'page')}`;
  if (!running && gone !== null) {
    // When a walk of the process before ended is not known.
    const when = completedAt === null ? `begun ${ago(startedAt, now)}` : `completed ${ago(completedAt, now)}`;
    return html`no. ${number}: ${size}, ${countText(gone)} gone, ${unbroken(when)}`;
  }
  return html`no. ${number} ${running ? 'running' : 'not running'}: ${size}, started ${unbroken(ago(startedAt, now))}${progress(walk)}`;
}

function progress({ rows, expectedRows }: WalkStatus): Html | null {
  if (expectedRows === null || expectedRows === 0) return null;
  const text = `${countText(rows)} of about ${countText(expectedRows)} rows`;
  return shareBar({ title: 'Progress of the walk', text, share: rows / expectedRows, look: 'plain' });
}

export function nextWalkText(seconds: number): string {
  return seconds > 0 ? `in ${durationText(seconds)}` : 'with the next response';
}
