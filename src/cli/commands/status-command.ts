import { type Command, InvalidArgumentError } from 'commander';
import { ago, durationText } from '../../admin/status/ages.ts';
import type { ProcessorStatus, SourceStatus, Status } from '../../admin/status/status.ts';
import { adminAddress, requestStatus } from '../../admin/status/status-request.ts';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { Redaction } from '../../observability/redaction.ts';
import { jsonText, type Output, outputOption, textTable } from '../output.ts';
import { EXIT_CODES, type Terminal } from '../terminal.ts';
import { loadWithoutProvider } from './without-provider.ts';

interface StatusOptions {
  readonly config: string;
  readonly output: Output;
  readonly url?: string;
}

/** `status`: how a running connector is, from its admin server. The exit code says whether it is ready. */
export function statusCommand(
  program: Command,
  { env, stdout, stderr, signal }: Terminal,
  exitWith: (code: number) => void,
  redaction: Redaction,
): void {
  program
    .command('status')
    .description('Show the state of a running connector: its sources, their progress, its problems.')
    .option('--url <url>', 'the base URL of its admin server; without it, from the settings file', baseAddress)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      `\nThe exit code is 0 when it is ready, and 1 when it is not ready or cannot be reached.\n\nExample:\n  spconnect status --url http://127.0.0.1:8083\n`,
    )
    .action(async ({ config, output, url }: StatusOptions) => {
      const base = url ?? adminAddress((await loadWithoutProvider(config, env, redaction)).admin);
      const status = await requestStatus(base, signal);
      stdout.write(output === 'json' ? jsonText(status) : textTable(tableOf(status)));
      for (const { name, ok, why } of status.checks) if (!ok) stderr.write(textTable([[`Not ready: ${name}: ${why}`]]));
      for (const line of troubles(status)) stderr.write(textTable([[line]]));
      if (!status.ready) exitWith(EXIT_CODES.failed);
    });
}

function baseAddress(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError('Expected a URL like http://127.0.0.1:8083.');
  }
  return text.replace(/\/+$/, '');
}

function tableOf({ sources, processor, at }: Status): string[][] {
  const rows = [...sources.map((source) => sourceRow(source, at)), ...(processor ? [processorRow(processor, at)] : [])];
  return [['name', 'state', 'last response', 'progress'], ...rows];
}

/** What is retried does not end a task, but an operator may have to know. */
function troubles({ sources, processor, at }: Status): string[] {
  return [...sources, ...(processor ? [processor] : [])].flatMap(({ name, trouble }) => {
    if (trouble === null) return [];
    const { failures, message, nextTryAt } = trouble;
    const wait = durationText(Math.max(0, (Date.parse(nextTryAt) - Date.parse(at)) / 1_000));
    return [`Retrying: ${name}: ${failures} failures in a row, next try in ${wait}: ${message.replace(/\s+/g, ' ')}`];
  });
}

function sourceRow(source: SourceStatus, now: string): string[] {
  const { name, owned, lastPollAt, caughtUp, secondsToRetentionCliff: seconds, walk } = source;
  // What was seen before another replica took it over says nothing of where it is now.
  if (owned === false) return [name, stateOf(source), '', 'another replica runs it'];
  const far = [
    ...(caughtUp === null ? [] : [caughtUp ? 'caught up' : 'behind']),
    ...(seconds === null
      ? []
      : [seconds < 0 ? 'events may be lost' : `unread events are kept for ${durationText(seconds)}`]),
    ...(walk?.running ? [`walk ${walk.number}: ${walk.rows} rows`] : []),
  ];
  return [name, stateOf(source), lastPollAt === null ? 'none yet' : ago(lastPollAt, now), far.join(', ')];
}

function processorRow(processor: ProcessorStatus, now: string): string[] {
  const { name, lastBatchAt, freshness } = processor;
  const far = freshness === null ? '' : freshnessText(freshness);
  return [name, stateOf(processor), lastBatchAt === null ? 'none yet' : ago(lastBatchAt, now), far];
}

/** The first kind needs no name; each other one has its name before it. */
function freshnessText({ instruments, unreadable, kinds }: NonNullable<ProcessorStatus['freshness']>): string {
  const texts = kinds.map(({ kind, priced, overdue }, at) => {
    const text = `${priced} of ${instruments} priced, ${overdue} overdue`;
    return at === 0 ? text : `${kind}: ${text}`;
  });
  return [...texts, ...(unreadable > 0 ? [`${unreadable} unreadable`] : [])].join('; ');
}

function stateOf({ wanted, task }: Pick<SourceStatus, 'wanted' | 'task'>): string {
  return task !== 'failed' && wanted === 'stopped' ? 'stopped' : task;
}
