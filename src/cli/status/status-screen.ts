import { type AgeStep, boundText, shownSteps } from '../../admin/drawing/age-bars.ts';
import { countText } from '../../admin/drawing/counts.ts';
import { minuteBars } from '../../admin/drawing/minute-bars.ts';
import { ago, durationText } from '../../admin/status/ages.ts';
import { shownState } from '../../admin/status/card-parts.ts';
import { nextWalkText } from '../../admin/status/source-card.ts';
import type { ProcessorStatus, ShownKind, SourceStatus, Status } from '../../admin/status/status.ts';
import { RETENTION_MS } from '../../connector/stream/retention-gap.ts';
import { printable } from '../output.ts';
import { freshnessText, RESTS, statusSentence, statusTroubles, walkText, writtenText } from './status-text.ts';

/** The names of the facts stand before them in a column of this width. */
const NAME_WIDTH = 17;
const LEVELS = [...' ▁▂▃▄▅▆▇█'];
const LONGEST_BAR = 40;
const SHOWN_NOTIFICATIONS = 3;

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** The status as the lines of a terminal: what the page draws, in text, closer together where it would not fit. */
export function statusScreen(status: Status, { columns, rows }: ScreenSize): string[] {
  const wide = screenLines(status, columns, false);
  const lines = wide.length <= rows ? wide : screenLines(status, columns, true);
  if (lines.length <= rows) return lines;
  return [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more lines`];
}

function screenLines(status: Status, columns: number, isDense: boolean): string[] {
  const { sources, processor, notifications, at } = status;
  const news = notifications
    .slice(0, SHOWN_NOTIFICATIONS)
    .map(({ source, at: then, text }) => `${source}, ${ago(then, at)}: ${text.split('\n')[0]}`);
  const blocks = [
    [statusSentence(status), ...statusTroubles(status)],
    ...sources.map((source) => sourceLines(source, at, columns)),
    ...(processor === null ? [] : [processorLines(processor, at, columns, isDense)]),
    ...(news.length === 0 ? [] : [['Notifications', ...news]]),
  ];
  const lines = blocks.flatMap((block, at) => (at === 0 || isDense ? block : ['', ...block]));
  return lines.flatMap((line) => wrapped(printable(line), columns));
}

/** A line in as many as the terminal needs, divided between words where it can be; those of a fact stand below its text. */
function wrapped(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  const indent = line.startsWith('  ') && columns > 3 * NAME_WIDTH ? NAME_WIDTH + 1 : 2;
  const space = line.lastIndexOf(' ', columns);
  const end = space > indent ? space : columns;
  const rest = line.slice(end).trimStart();
  return [line.slice(0, end), ...wrapped(`${' '.repeat(indent)}${rest}`, columns)];
}

function sourceLines(source: SourceStatus, now: string, columns: number): string[] {
  const { name, type, owned, trace, lastPollAt, caughtUp, secondsToRetentionCliff, walk, secondsToNextWalk } = source;
  const title = `${name}  ${shownState(source).toUpperCase()}`;
  if (owned === false) return [`${title}  another replica runs it`];
  const failure = trace === null ? [] : [fact('why', trace.split('\n')[0] ?? '')];
  const poll = lastPollAt === null ? 'no response yet' : `last response ${ago(lastPollAt, now)}`;
  const stream = [...(caughtUp === null ? [] : [caughtUp ? 'caught up' : 'behind']), poll].join(', ');
  return [
    `${title}  ${stream}`,
    ...failure,
    ...retention(secondsToRetentionCliff, columns),
    ...(walk === null ? [] : walkLines(walk, now, columns)),
    ...(secondsToNextWalk === null ? [] : [fact('next walk', nextWalkText(secondsToNextWalk))]),
    fact('written', `${writtenText(type, source.written)}, ${countText(source.written.deadLetters)} dead letters`),
    ...minuteLines(type === 'pre-trade-checks' ? 'checks a minute' : 'events a minute', source.perMinute, columns),
  ];
}

function processorLines(processor: ProcessorStatus, now: string, columns: number, isDense: boolean): string[] {
  const { name, freshness, lastBatchAt, trace, written, perMinute } = processor;
  const batch = lastBatchAt === null ? 'no batch yet' : `last batch ${ago(lastBatchAt, now)}`;
  const failure = trace === null ? [] : [fact('why', trace.split('\n')[0] ?? '')];
  const kinds = freshness?.kinds ?? [];
  return [
    `${name}  ${shownState(processor).toUpperCase()}  ${batch}`,
    ...failure,
    ...(processor.wanted === 'running' ? [] : [fact('prices', RESTS)]),
    ...(freshness === null ? [] : [fact('instruments', freshnessText(freshness))]),
    fact('written', `${countText(written.records)} prices, ${countText(written.deadLetters)} dead letters`),
    ...kinds.flatMap((kind) => {
      const name = kinds.length === 1 ? 'prices by age' : `${kind.kind} by age`;
      return [fact(name, agesText(kind)), ...(isDense ? ageSparkline(kind.ages) : ageBars(kind.ages, columns))];
    }),
    ...minuteLines('prices a minute', perMinute, columns),
  ];
}

function retention(seconds: number | null, columns: number): string[] {
  if (seconds === null) return [];
  const text = seconds < 0 ? 'events may be lost' : `events are kept for ${durationText(seconds)}`;
  return [fact('retention', `${bar(seconds / (RETENTION_MS / 1_000), columns)} ${text}`)];
}

function walkLines(walk: NonNullable<SourceStatus['walk']>, now: string, columns: number): string[] {
  const { rows, expectedRows, running } = walk;
  const shown = running && expectedRows ? `${bar(rows / expectedRows, columns)} ` : '';
  return [fact(`walk ${walk.number}`, `${shown}${walkText(walk, now)}`)];
}

function minuteLines(name: string, perMinute: readonly number[], columns: number): string[] {
  const { rates, text } = minuteBars(perMinute);
  const most = Math.max(1, Math.min(LONGEST_BAR, columns - NAME_WIDTH - 1));
  const shown = rates.slice(-most);
  return [fact(name, text), ...(shown.some((rate) => rate > 0) ? [fact('', sparkline(shown))] : [])];
}

function agesText({ priced, ageP50Ms, ageP99Ms }: ShownKind): string {
  if (priced === 0) return 'none yet';
  const [half, most] = [ageP50Ms, ageP99Ms].map((ms) => durationText(ms / 1_000));
  return `half below ${half}, 99 % below ${most}`;
}

/** A line for each age. */
function ageBars(ages: readonly AgeStep[], columns: number): string[] {
  const steps = shownSteps(ages);
  const highest = Math.max(...steps.map(({ instruments }) => instruments));
  const width = Math.max(1, Math.min(LONGEST_BAR, columns - 2 * NAME_WIDTH));
  return steps.map(({ atMostSeconds, instruments }) => {
    const length = instruments === 0 ? 0 : Math.max(1, Math.round((instruments / highest) * width));
    const shown = length === 0 ? '' : `${'█'.repeat(length)} `;
    return fact('', `${boundText(atMostSeconds).padStart(6)} ${shown}${countText(instruments)}`);
  });
}

/** All ages in one line, between the youngest bound and the oldest. */
function ageSparkline(ages: readonly AgeStep[]): string[] {
  const steps = shownSteps(ages);
  const [first, last] = [steps.at(0), steps.at(-1)];
  if (first === undefined || last === undefined) return [];
  const line = sparkline(steps.map(({ instruments }) => instruments));
  return [fact('', `${boundText(first.atMostSeconds)} ${line} ${boundText(last.atMostSeconds)}`)];
}

function fact(name: string, text: string): string {
  return `  ${name.padEnd(NAME_WIDTH - 2)} ${text}`.trimEnd();
}

/** Part of a whole; short where the terminal is narrow. */
function bar(share: number, columns: number): string {
  const length = Math.max(5, Math.min(LONGEST_BAR / 2, columns - NAME_WIDTH - 45));
  const full = Math.round(Math.min(1, Math.max(0, share)) * length);
  return `${'█'.repeat(full)}${'░'.repeat(length - full)}`;
}

/** A line of bars of one character each, as high as their share of the highest. */
function sparkline(values: readonly number[]): string {
  const highest = Math.max(...values);
  return values
    .map((value) => LEVELS[value === 0 ? 0 : Math.max(1, Math.round((value / highest) * (LEVELS.length - 1)))])
    .join('');
}
