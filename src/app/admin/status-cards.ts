import type { ProcessorStatus, SourceStatus, TaskState, Trouble, WalkStatus } from '../status.ts';
import { ago, duration } from './ages.ts';
import { type Html, html } from './html.ts';

/** Below this there is little time left to mend what keeps us from reading: a day. */
const CLIFF_IS_NEAR_SECONDS = 86_400;

const BADGES: Readonly<Record<TaskState | 'stopped', string>> = {
  running: 'good',
  paused: 'wait',
  stopped: 'wait',
  failed: 'bad',
  unassigned: '',
};

/** A source: what it does, how far it is, what is wrong. `now` is the status's instant. */
export function sourceCard(source: SourceStatus, now: string): Html {
  const { name, type, trace, trouble, writerTrouble, lastPollAt, written, since, walk } = source;
  const newRecords = [
    ...(type === 'instruments' ? [`${number(written.instruments)} instruments`] : []),
    ...(type === 'pre-trade-checks' ? [`${number(written.checks)} checks`] : [`${number(written.events)} events`]),
  ];
  return html`<article class="card"><h3>${name} ${stateBadge(source, now)}</h3><div class="soft">source of type ${type}</div>
${failure(trace)}${troubleNote(trouble, now)}${writerTrouble === null ? null : note('wait', `The writer is opened again: ${writerTrouble}`)}
<dl>
${fact('Stream', caughtUp(source))}
${since === null ? null : fact('Offset', html`${since}`)}
${fact('Last poll', lastPollAt === null ? html`none yet` : html`<time datetime="${lastPollAt}">${ago(lastPollAt, now)}</time>`)}
${cliff(source.secondsToRetentionCliff)}
${walk === null ? null : fact('Walk', walkText(walk, now))}
${fact('Written', html`${newRecords.join(', ')}`)}
${fact('Dead letters', html`${number(written.deadLetters)}`)}
</dl></article>
`;
}

/** The price processor: how fresh its prices are. */
export function processorCard(processor: ProcessorStatus, now: string): Html {
  const { name, trace, trouble, partitions, freshness, lastBatchAt, written } = processor;
  return html`<article class="card"><h3>${name} ${stateBadge(processor, now)}</h3><div class="soft">${partitions.length} partitions of instruments</div>
${failure(trace)}${troubleNote(trouble, now)}
<dl>
${freshness === null ? null : freshnessFacts(freshness)}
${fact('Last batch', lastBatchAt === null ? html`none yet` : html`<time datetime="${lastBatchAt}">${ago(lastBatchAt, now)}</time>`)}
${fact('Written', html`${number(written.records)} prices`)}
${fact('Dead letters', html`${number(written.deadLetters)}`)}
</dl></article>
`;
}

function freshnessFacts(freshness: NonNullable<ProcessorStatus['freshness']>): Html {
  const { instruments, priced, ageP50Ms, ageP99Ms, overdue, pulled, failing, lag } = freshness;
  const failingCount = Object.values(failing).reduce((sum, count) => sum + count, 0);
  const isOverdue = overdue > 0 ? html`<span class="badge bad">${number(overdue)}</span>` : html`0`;
  return html`${fact('Instruments', html`${number(instruments)}, of them priced ${number(priced)}`)}
${fact('Age', html`half below ${duration(ageP50Ms / 1_000)}, 99 % below ${duration(ageP99Ms / 1_000)}`)}
${fact('Overdue', isOverdue)}
${fact('Failing', html`${number(failingCount)}`)}
${fact('Quoting pulled', html`${number(pulled)}`)}
${fact('Input lag', html`${number(lag)} records`)}`;
}

function stateBadge(
  { wanted, task, changedAt }: Pick<SourceStatus, 'wanted' | 'task' | 'changedAt'>,
  now: string,
): Html {
  const state = task !== 'failed' && wanted === 'stopped' ? 'stopped' : task;
  const text = state.toUpperCase();
  const seconds = (Date.parse(now) - Date.parse(changedAt)) / 1_000;
  return html`<span class="badge ${BADGES[state]}">${text}</span><span class="soft">for ${duration(seconds)}</span>`;
}

function caughtUp({ caughtUp: is }: SourceStatus): Html {
  if (is === null) return html`not asked yet`;
  return is ? html`caught up` : html`<span class="badge wait">behind</span>`;
}

function cliff(seconds: number | null): Html | null {
  if (seconds === null) return null;
  const text = seconds < 0 ? 'events may be lost' : `unread events are kept for ${duration(seconds)}`;
  const isNear = seconds < CLIFF_IS_NEAR_SECONDS;
  return fact('Retention', isNear ? html`<span class="badge bad">${text}</span>` : html`${text}`);
}

function walkText(walk: WalkStatus, now: string): Html {
  const { number: count, running, pages, rows, expectedRows, startedAt, completedAt, gone } = walk;
  if (!running && completedAt !== null) {
    const goneText = gone === null ? '' : `, ${number(gone)} gone`;
    return html`no. ${count}: ${number(rows)} rows in ${number(pages)} pages${goneText}, completed ${ago(completedAt, now)}`;
  }
  const bar = expectedRows === null || expectedRows === 0 ? null : progress(rows, expectedRows);
  return html`no. ${count} runs: ${number(rows)} rows in ${number(pages)} pages, begun ${ago(startedAt, now)}${bar}`;
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
  return note('wait', `${failures} failed in a row, next try in ${duration(inSeconds)}.\n${message}`);
}

function note(kind: 'bad' | 'wait', text: string): Html {
  return html`<div class="note ${kind}">${text}</div>`;
}

function fact(name: string, value: Html): Html {
  return html`<dt>${name}</dt><dd>${value}</dd>`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
