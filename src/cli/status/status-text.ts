import { countText } from '../../admin/drawing/counts.ts';
import { ago, durationText } from '../../admin/status/ages.ts';
import { deadLettersCommand, shownState } from '../../admin/status/card-parts.ts';
import { nextWalkText } from '../../admin/status/source-card.ts';
import type { ProcessorStatus, SourceStatus, Status, WalkStatus } from '../../admin/status/status.ts';

/** `structured-products: ready; version 1.2.3, up 5 h`. */
export function statusSentence({ prefix, version, ready, at, startedAt }: Status): string {
  const up = durationText((Date.parse(at) - Date.parse(startedAt)) / 1_000);
  return `${prefix}: ${ready ? 'ready' : 'not ready'}; version ${version}, up ${up}`;
}

/** A row for each source and for the processor, below the names of the columns. */
export function statusTable({ sources, processor, at }: Status): string[][] {
  const rows = [...sources.map((source) => sourceRow(source, at)), ...(processor ? [processorRow(processor, at)] : [])];
  return [['name', 'state', 'last response', 'written', 'dead letters', 'progress'], ...rows];
}

/** What an operator may have to know or do, a line each: what is not ready, what is retried, where dead letters are. */
export function statusTroubles({ checks, sources, processor, at }: Status): string[] {
  const all = [...sources, ...(processor ? [processor] : [])];
  const notReady = checks.flatMap(({ name, ok, why }) => (ok ? [] : [`Not ready: ${name}: ${why}`]));
  const retried = all.flatMap(({ name, trouble }) => {
    // What is retried does not end a task.
    if (trouble === null) return [];
    const { failures, message, nextTryAt } = trouble;
    const wait = durationText(Math.max(0, (Date.parse(nextTryAt) - Date.parse(at)) / 1_000));
    return [`Retrying: ${name}: ${failures} failures in a row, next try in ${wait}: ${message.replace(/\s+/g, ' ')}`];
  });
  const dead = all.flatMap(({ name, written: { deadLetters } }) =>
    deadLetters === 0 ? [] : [`Dead letters: ${name}: ${countText(deadLetters)}; see ${deadLettersCommand(name)}`],
  );
  return [...notReady, ...retried, ...dead];
}

function sourceRow(source: SourceStatus, now: string): string[] {
  const { name, type, owned, lastPollAt, caughtUp, secondsToRetentionCliff: seconds, written } = source;
  // What was seen before another replica took it over says nothing of where it is now.
  if (owned === false) return [name, shownState(source), '', '', '', 'another replica runs it'];
  const progress = [
    ...(caughtUp === null ? [] : [caughtUp ? 'caught up' : 'behind']),
    ...(seconds === null
      ? []
      : [seconds < 0 ? 'events may be lost' : `unread events are kept for ${durationText(seconds)}`]),
    ...walkTexts(source, now),
  ];
  const response = lastPollAt === null ? 'none yet' : ago(lastPollAt, now);
  return [
    name,
    shownState(source),
    response,
    writtenText(type, written),
    countText(written.deadLetters),
    progress.join(', '),
  ];
}

/** `24 instruments, 3,384 events`. */
export function writtenText(type: string, { instruments, events, checks }: SourceStatus['written']): string {
  if (type === 'pre-trade-checks') return `${countText(checks)} checks`;
  return [
    ...(type === 'instruments' ? [`${countText(instruments)} instruments`] : []),
    `${countText(events)} events`,
  ].join(', ');
}

/** The newest walk and the next one, as far as they are known. */
function walkTexts({ walk, secondsToNextWalk }: SourceStatus, now: string): string[] {
  return [
    ...(walk === null ? [] : [`walk ${walk.number}: ${walkText(walk, now)}`]),
    ...(secondsToNextWalk === null ? [] : [`next walk ${nextWalkText(secondsToNextWalk)}`]),
  ];
}

export function walkText(
  { running, rows, expectedRows, gone, startedAt, completedAt }: WalkStatus,
  now: string,
): string {
  if (running) return `${countText(rows)}${expectedRows ? ` of about ${countText(expectedRows)}` : ''} rows`;
  if (gone === null) return `${countText(rows)} rows, interrupted`;
  const when = completedAt === null ? `begun ${ago(startedAt, now)}` : `completed ${ago(completedAt, now)}`;
  return `${countText(rows)} rows, ${countText(gone)} gone, ${when}`;
}

export const RESTS = 'no prices are requested until it is resumed';

function processorRow(processor: ProcessorStatus, now: string): string[] {
  const { lastBatchAt, freshness, written } = processor;
  return [
    processor.name,
    shownState(processor),
    lastBatchAt === null ? 'none yet' : ago(lastBatchAt, now),
    `${countText(written.records)} prices`,
    countText(written.deadLetters),
    freshness !== null ? freshnessText(freshness) : processor.wanted === 'running' ? '' : RESTS,
  ];
}

/** The first kind needs no name; each other one has its name before it. */
export function freshnessText({ instruments, unreadable, kinds }: NonNullable<ProcessorStatus['freshness']>): string {
  const texts = kinds.map(({ kind, priced, waiting, repaid, overdue, failing }, at) => {
    const text = [
      `${countText(priced)} of ${countText(instruments)} priced`,
      ...(waiting > 0 ? [`${countText(waiting)} waiting`] : []),
      ...(repaid > 0 ? [`${countText(repaid)} repaid`] : []),
      `${countText(overdue)} overdue`,
      failingText(failing),
    ].join(', ');
    return at === 0 ? text : `${kind}: ${text}`;
  });
  return [...texts, ...(unreadable > 0 ? [`${countText(unreadable)} unreadable`] : [])].join('; ');
}

/** `129 failing (status 404: 120, none: 9)`. */
function failingText(failing: Readonly<Record<string, number>>): string {
  const problems = Object.entries(failing).sort(([, a], [, b]) => b - a);
  const count = problems.reduce((sum, [, instruments]) => sum + instruments, 0);
  const shown = problems.slice(0, 3).map(([problem, instruments]) => `${problem}: ${countText(instruments)}`);
  return `${countText(count)} failing${shown.length > 0 ? ` (${shown.join(', ')})` : ''}`;
}
