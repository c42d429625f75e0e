import { ago, durationText } from './ages.ts';
import { type Html, html } from './html.ts';
import type { ProcessorStatus, SourceStatus, TaskState, Trouble, WalkStatus } from './status.ts';

/** Below this there is little time left to correct what keeps the source from reading: a day. */
const CLIFF_IS_NEAR_SECONDS = 86_400;
/** Problems of prices that are shown one by one. */
const MOST_PROBLEMS = 5;

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

/** A source: what it does, how far it is, what is wrong. `now` is the status's instant. */
export function sourceCard(source: SourceStatus, now: string): Html {
  const { name, type, trace, trouble, writerTrouble, owned, task, lastPollAt, written, since, walk } = source;
  const newRecords = [
    ...(type === 'instruments' ? [`${number(written.instruments)} instruments`] : []),
    ...(type === 'pre-trade-checks' ? [`${number(written.checks)} checks`] : [`${number(written.events)} events`]),
  ];
  // A source that never ran here has no facts, and those from before another replica took it over are outdated.
  const isKnown = owned !== false && (task !== 'unassigned' || lastPollAt !== null);
  const facts = html`<dl>
${fact('Stream', caughtUp(source))}
${since === null ? null : fact('Offset', html`${since}`)}
${fact('Last poll', whenOf(lastPollAt, now))}
${cliff(source.secondsToRetentionCliff)}
${walk === null ? null : fact('Walk', walkText(walk, now))}
${fact('Written', html`${newRecords.join(', ')}`)}
${deadLetters(written.deadLetters)}
</dl>`;
  return html`<article class="card"><h3>${name} ${stateBadge(source, now)}</h3><div class="soft">source of type ${type}</div>
${failure(trace)}${troubleNote(trouble, now)}${writerNote(writerTrouble)}${owned === false ? note('', 'Another replica runs it.') : null}
${isKnown ? facts : null}</article>
`;
}

/** The price processor: how fresh its prices are. */
export function processorCard(processor: ProcessorStatus, now: string): Html {
  const { name, trace, trouble, writerTrouble, partitions, freshness, lastBatchAt, written } = processor;
  return html`<article class="card"><h3>${name} ${stateBadge(processor, now)}</h3><div class="soft">price processor, ${partitions.length} partitions of instruments here</div>
${failure(trace)}${troubleNote(trouble, now)}${writerNote(writerTrouble)}
<dl>
${freshness === null ? null : freshnessFacts(freshness)}
${fact('Last batch', whenOf(lastBatchAt, now))}
${fact('Written', html`${number(written.records)} prices`)}
${deadLetters(written.deadLetters)}
</dl></article>
`;
}

function freshnessFacts(freshness: NonNullable<ProcessorStatus['freshness']>): Html {
  const { instruments, priced, kinds, unreadable, pulled, lag } = freshness;
  return html`${fact('Instruments', html`${number(instruments)}, ${number(priced)} priced`)}
${unreadable > 0 ? fact('Unreadable', alarming(unreadable)) : null}
${fact('Age', agesText(freshness))}
${fact('Overdue', alarming(freshness.overdue))}
${fact('Failing', failingText(freshness.failing))}
${kinds.slice(1).map(otherKind)}
${fact('Quoting pulled', html`${number(pulled)}`)}
${fact('Input lag', html`${number(lag)} records`)}`;
}

type ShownKind = NonNullable<ProcessorStatus['freshness']>['kinds'][number];

/** A kind beside the first one. */
function otherKind(kind: ShownKind): Html {
  const { priced, overdue, failing } = kind;
  const counts = html`${number(priced)} priced, ${alarming(overdue)} overdue, failing: ${failingText(failing)}`;
  return fact(`Prices ${kind.kind}`, html`${counts}; ${agesText(kind)}`);
}

function agesText({ ageP50Ms, ageP99Ms }: Pick<ShownKind, 'ageP50Ms' | 'ageP99Ms'>): Html {
  return html`half below ${length(ageP50Ms / 1_000)}, 99 % below ${length(ageP99Ms / 1_000)}`;
}

function alarming(count: number): Html {
  return count > 0 ? html`<span class="badge bad">${number(count)}</span>` : html`0`;
}

function failingText(failing: Readonly<Record<string, number>>): Html {
  const problems = Object.entries(failing).sort(([, a], [, b]) => b - a);
  const count = problems.reduce((sum, [, instruments]) => sum + instruments, 0);
  const shown = problems.slice(0, MOST_PROBLEMS).map(([problem, instruments]) => `${problem}: ${number(instruments)}`);
  return html`${number(count)}${shown.length > 0 ? ` (${shown.join(', ')})` : ''}`;
}

function stateBadge(shown: Pick<SourceStatus, 'wanted' | 'task' | 'changedAt' | 'trouble'>, now: string): Html {
  const state = shownState(shown);
  const isTrying = state === 'running' && shown.trouble !== null;
  const seconds = (Date.parse(now) - Date.parse(shown.changedAt)) / 1_000;
  return html`<span class="badge ${isTrying ? 'wait' : BADGES[state]}">${state.toUpperCase()}${isTrying ? ', retrying' : ''}</span><span class="soft">for ${length(seconds)}</span>`;
}

function whenOf(instant: string | null, now: string): Html {
  if (instant === null) return html`none yet`;
  return html`<time datetime="${instant}">${unbroken(ago(instant, now))}</time>`;
}

function deadLetters(count: number): Html {
  return fact('Dead letters', count === 0 ? html`0` : html`<span class="badge wait">${number(count)}</span>`);
}

function caughtUp({ caughtUp: is }: SourceStatus): Html {
  if (is === null) return html`not polled yet`;
  return is ? html`caught up` : html`<span class="badge wait">behind</span>`;
}

function cliff(seconds: number | null): Html | null {
  if (seconds === null) return null;
  const text = seconds < 0 ? 'events may be lost' : `unread events are kept for ${length(seconds)}`;
  const isNear = seconds < CLIFF_IS_NEAR_SECONDS;
  return fact('Retention', isNear ? html`<span class="badge bad">${text}</span>` : html`${text}`);
}

function walkText(walk: WalkStatus, now: string): Html {
  const { number: count, running, pages, rows, expectedRows, startedAt, completedAt, gone } = walk;
  if (!running && completedAt !== null) {
    const goneText = gone === null ? '' : `, ${number(gone)} gone`;
    return html`no. ${count}: ${number(rows)} rows in ${number(pages)} pages${goneText}, completed ${unbroken(ago(completedAt, now))}`;
  }
  const bar = expectedRows === null || expectedRows === 0 ? null : progress(rows, expectedRows);
  return html`no. ${count} ${running ? 'running' : 'not running'}: ${number(rows)} rows in ${number(pages)} pages, started ${unbroken(ago(startedAt, now))}${bar}`;
}

function progress(rows: number, expected: number): Html {
  return html`<progress value="${Math.min(rows, expected)}" max="${expected}">${number(rows)} of about ${number(expected)}</progress>`;
}

function failure(trace: string | null): Html | null {
  return trace === null ? null : note('bad', trace);
}

function troubleNote(trouble: Trouble | null, now: string): Html | null {
  if (trouble === null) return null;
  const { failures, message, nextTryAt } = trouble;
  const inSeconds = Math.max(0, (Date.parse(nextTryAt) - Date.parse(now)) / 1_000);
  return note('wait', `${failures} failures in a row, next try in ${length(inSeconds)}.\n${message}`);
}

function writerNote(trouble: string | null): Html | null {
  return trouble === null ? null : note('wait', `The writer is being opened again: ${trouble}`);
}

function note(kind: 'bad' | 'wait' | '', text: string): Html {
  return html`<div class="note ${kind}">${text}</div>`;
}

function fact(name: string, value: Html): Html {
  return html`<dt>${name}</dt><dd>${value}</dd>`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function length(seconds: number): string {
  return unbroken(durationText(seconds));
}

/** A duration is one unit to the reader, so that no line breaks within it. */
function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0');
}
