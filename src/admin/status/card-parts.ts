import { countText } from '../drawing/counts.ts';
import { type Html, html } from '../drawing/html.ts';
import { ago, durationText } from './ages.ts';
import type { SourceStatus, TaskState, Trouble } from './status.ts';

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

/** Name and state of a source or the processor. */
export function heading(
  shown: Pick<SourceStatus, 'name' | 'wanted' | 'task' | 'changedAt' | 'trouble'>,
  now: string,
): Html {
  const state = shownState(shown);
  const isTrying = state === 'running' && shown.trouble !== null;
  const seconds = (Date.parse(now) - Date.parse(shown.changedAt)) / 1_000;
  return html`<h3>${shown.name} <span class="badge ${isTrying ? 'wait' : BADGES[state]}">${state.toUpperCase()}${isTrying ? ', retrying' : ''}</span><span class="soft">for ${length(seconds)}</span></h3>`;
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

export function note(kind: 'bad' | 'wait' | '', text: string): Html {
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

export function length(seconds: number): string {
  return unbroken(durationText(seconds));
}

/** A duration is one unit to the reader, so that no line breaks within it. */
export function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0');
}
