import { counted, countText } from '../admin/drawing/counts.ts';
import { ago, durationText } from '../admin/status/ages.ts';
import { caughtUpText, deadLettersCommand, nextWalkText, noFreshnessText, shownState } from '../admin/status/cards.ts';
import type { ProcessorStatus, SourceStatus, Status, WalkStatus } from '../admin/status/status.ts';
import { adminAddress, requestStatus } from '../admin/status/status-request.ts';
import { createLiveBlock } from '../dev/demo/live-block.ts';
import { ConnectorError } from '../errors.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { loadWithoutProvider } from './command-settings.ts';
import { jsonLine, print, printable, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

const EVERY_MS = 2_000;

/** `status`: a running connector, from its admin server. The exit code says whether it is ready. */
export async function statusCommand(
  context: CommandContext,
  { url, watch }: { readonly url?: string; readonly watch: boolean },
): Promise<void> {
  const base = url ?? adminAddress((await loadWithoutProvider(context)).admin);
  if (watch) return watchStatus(context, base, systemClock);
  const status = await requestStatus(base, context.signal);
  print(context, status, textTable(statusTable(status)));
  for (const line of statusLines(status)) context.stderr.write(`${line}\n`);
  if (!status.ready) context.exitWith(EXIT_CODES.failed);
}

/**
 * Shows the status again and again until the command is stopped: on a terminal in place, elsewhere one below the other.
 * Exported for tests.
 *
 * @throws ConnectorError ADMIN_UNREACHABLE when the first request is not answered; later ones are repeated.
 */
export async function watchStatus(
  terminal: Pick<CommandContext, 'stdout' | 'stderr' | 'signal' | 'output'>,
  base: string,
  clock: Pick<Clock, 'sleep'>,
): Promise<void> {
  const { signal } = terminal;
  const show = showFor(terminal);
  let newest: Status | null = null;
  try {
    for (;;) {
      try {
        newest = await requestStatus(base, signal);
        show(newest);
      } catch (error) {
        if (newest === null || !(error instanceof ConnectorError)) throw error;
        show(newest, printable(`${error.message} Trying again; this was at ${newest.at}:`));
      }
      await clock.sleep(EVERY_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** `message`: why there is no newer status. */
type Show = (status: Status, message?: string) => void;

function showFor({ stdout, stderr, output }: Pick<CommandContext, 'stdout' | 'stderr' | 'output'>): Show {
  if (output === 'json') {
    return (status, message) => {
      if (message === undefined) stdout.write(jsonLine(status));
      else stderr.write(`${message}\n`);
    };
  }
  if (stdout.isTTY !== true) {
    return (status, message) => {
      const lines = message === undefined ? statusLines(status) : [message];
      const table = message === undefined ? textTable(statusTable(status)) : '';
      stdout.write(`${lines.map((line) => `${line}\n`).join('')}${table}\n`);
    };
  }
  const block = createLiveBlock(stdout);
  return (status, message) => {
    const above = message === undefined ? [] : [message];
    const lines = [...above, ...statusLines(status), ...statusFacts(status)];
    const { columns = 80, rows = 24 } = stdout;
    // The last rows are for the count of the lines that do not fit, for Ctrl-C, and for the cursor.
    let left = rows - 3;
    const end = lines.findIndex((line) => {
      left -= Math.max(1, Math.ceil(line.length / columns));
      return left < 0;
    });
    const shown = end < 0 ? lines : [...lines.slice(0, end), `… ${lines.length - end} more lines`];
    block.show([...shown, 'Ctrl-C ends.']);
  };
}

/** The table with a line for each cell: it fits a narrow terminal. */
function statusFacts(status: Status): string[] {
  const [header = [], ...rows] = statusTable(status);
  const width = Math.max(...header.map((name) => name.length));
  return rows.flatMap(([name = '', ...cells]) => [
    printable(name),
    ...cells.flatMap((cell, at) =>
      cell === '' ? [] : [`  ${(header[at + 1] ?? '').padEnd(width)}  ${printable(cell)}`],
    ),
  ]);
}

/** A row for each source and for the processor, below the names of the columns. */
function statusTable({ sources, processor, at }: Status): string[][] {
  const rows = [...sources.map((source) => sourceRow(source, at)), ...(processor ? [processorRow(processor, at)] : [])];
  return [['name', 'state', 'last response', 'written', 'dead letters', 'progress'], ...rows];
}

/** `structured-products: ready; version 1.2.3, up 5 h`, and a line for everything that is not well. */
function statusLines({ prefix, version, ready, startedAt, alarms, checks, sources, processor, at }: Status): string[] {
  const up = durationText((Date.parse(at) - Date.parse(startedAt)) / 1_000);
  const all = [...sources, ...(processor ? [processor] : [])];
  const notReady = checks.flatMap(({ name, ok, why }) => (ok ? [] : [`Not ready: ${name}: ${why}`]));
  const retried = all.flatMap(({ name, trouble }) => {
    if (trouble === null) return [];
    const { failures, message, nextTryAt } = trouble;
    const wait = durationText(Math.max(0, (Date.parse(nextTryAt) - Date.parse(at)) / 1_000));
    return [`Retrying: ${name}: ${failures} failures in a row, next try in ${wait}: ${message.replace(/\s+/g, ' ')}`];
  });
  const dead = sources.flatMap(({ name, written: { deadLetters } }) =>
    deadLetters === 0 ? [] : [`Dead letters: ${name}: ${countText(deadLetters)}; see ${deadLettersCommand(name)}`],
  );
  const title = `${prefix}: ${ready ? 'ready' : 'not ready'}; version ${version}, up ${up}`;
  return [title, ...alarms.map(({ text }) => text), ...notReady, ...retried, ...dead].map(printable);
}

function sourceRow(source: SourceStatus, now: string): string[] {
  const { name, type, owned, lastPollAt, secondsToRetentionCliff: seconds, written, walk, secondsToNextWalk } = source;
  // Its state before another replica took it over says nothing of its progress now.
  if (owned === false) return [name, shownState(source), '', '', '', 'another replica runs it'];
  const progress = [
    ...(lastPollAt === null ? [] : [caughtUpText(source)]),
    ...(seconds === null
      ? []
      : [seconds < 0 ? 'events may be lost' : `unread events are kept for ${durationText(seconds)}`]),
    ...(walk === null ? [] : [`walk ${walk.number}: ${walkText(walk, now)}`]),
    ...(secondsToNextWalk === null ? [] : [`next walk ${nextWalkText(secondsToNextWalk)}`]),
  ];
  const response = lastPollAt === null ? 'none yet' : ago(lastPollAt, now);
  const dead = countText(written.deadLetters);
  return [name, shownState(source), response, writtenText(type, written), dead, progress.join(', ')];
}

/** `24 instruments, 3,384 events`. */
function writtenText(type: string, { instruments, events, checks }: SourceStatus['written']): string {
  if (type === 'pre-trade-checks') return counted(checks, 'check');
  return [...(type === 'instruments' ? [counted(instruments, 'instrument')] : []), counted(events, 'event')].join(', ');
}

function walkText({ running, rows, expectedRows, gone, startedAt, completedAt }: WalkStatus, now: string): string {
  if (running) return `${countText(rows)}${expectedRows ? ` of about ${countText(expectedRows)}` : ''} rows`;
  if (gone === null) return `${counted(rows, 'row')}, interrupted`;
  const when = completedAt === null ? `begun ${ago(startedAt, now)}` : `completed ${ago(completedAt, now)}`;
  return `${counted(rows, 'row')}, ${countText(gone)} gone, ${when}`;
}

function processorRow(processor: ProcessorStatus, now: string): string[] {
  const { lastBatchAt, freshness, written } = processor;
  return [
    processor.name,
    shownState(processor),
    lastBatchAt === null ? 'none yet' : ago(lastBatchAt, now),
    counted(written.records, 'price'),
    countText(written.deadLetters),
    freshness === null ? noFreshnessText(processor) : freshnessText(freshness),
  ];
}

/** The first kind needs no name; each other one has its name before it. */
function freshnessText({ instruments, unreadable, kinds }: NonNullable<ProcessorStatus['freshness']>): string {
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
