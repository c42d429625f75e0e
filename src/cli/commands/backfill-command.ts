import { Argument, type Command } from 'commander';
import { countText } from '../../admin/drawing/counts.ts';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { BackfillReport, SeriesReport } from '../../operator/backfill/backfill-operation.ts';
import type { BackfilledKind } from '../../operator/backfill/backfill-plan.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { jsonText, outputOption, printable, textTable } from '../output.ts';
import { commandProgress } from '../progress.ts';
import { EXIT_CODES } from '../terminal.ts';

const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?Z$/;
/** Lines elsewhere than on a terminal. */
const LINE_EVERY_MS = 5_000;
/** Of those that have no prices, so many are named. */
const MOST_ISINS = 100;

interface BackfillOptions extends DataOptions {
  readonly from: string;
  readonly to: string;
  readonly isin?: readonly string[];
  readonly rate?: number;
}

/** `backfill`: the past of daily or intraday prices. Progress goes to stderr, what was written to stdout. */
export function backfillCommand(program: Command, context: CommandContext): void {
  const { env, stdout, stderr, signal, redaction, exitWith } = context;
  const command = program
    .command('backfill')
    .description('Write the past of daily or intraday prices to their topic, exactly once; can be resumed.')
    .addArgument(new Argument('<kind>', 'which prices').choices(['daily', 'intraday']))
    .requiredOption('--from <when>', 'the first day, or the first instant in UTC')
    .requiredOption('--to <when>', 'the last day; or the instant before which the last window opens')
    .option('--isin <isin...>', 'only these products; by default all whose prices are followed')
    .option('--rate <requests>', 'requests a second; by default half of marketData.requestsPerSecond', Number)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nThe series are those of the settings (prices.kinds). After an interruption, run the same command again: it goes on\n' +
        'where it stopped, as long as the broker keeps the offsets of a group without members (seven days by default).\n' +
        'What the price processor follows (lookBack) is left to it. --rate is beside what a running connector asks: with\n' +
        'little of its own work, as in steady operation, half of the limit keeps both within it. The exit code is 1 when a\n' +
        'product is on no topic of instruments, or the provider gave no prices for it; the ISINs are named.\n\n' +
        'Examples:\n  spconnect backfill daily --from 2026-01-01 --to 2026-03-31\n' +
        '  spconnect backfill intraday --from 2026-03-30T06:00:00Z --to 2026-03-30T18:00:00Z --isin CH0012032048\n',
    )
    .action(async (kind: BackfilledKind, { from, to, isin = [], rate, output, config }: BackfillOptions) => {
      const { backfill } = await import('../../operator/backfill/backfill-operation.ts');
      const { atInstallation } = await import('../../operator/installation.ts');
      const form = kind === 'daily' ? 'a day like 2026-03-31' : 'an instant like 2026-03-31T12:00:00Z';
      const msOf = (name: string, text: string) => {
        const ms = (kind === 'daily' ? DAY : INSTANT).test(text) ? Date.parse(text) : Number.NaN;
        if (Number.isNaN(ms)) {
          const found = `error: found ${name} ${printable(text)}; expected ${form}.`;
          command.error(found, { exitCode: EXIT_CODES.usage });
        }
        return ms;
      };
      const lastMs = msOf('--to', to);
      const fromMs = msOf('--from', from);
      const range = { fromMs, toMs: lastMs + (kind === 'daily' ? DAY_MS : 0) };
      const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
      const shown = commandProgress(stderr, LINE_EVERY_MS);
      try {
        const report = await atInstallation(
          { settings, signal, needs: ['instruments', 'dead-letters'] },
          (installation) =>
            backfill(installation, {
              kind,
              range,
              isins: new Set(isin),
              rate: rate ?? null,
              onProgress: (series, progress) => shown.show(progressText({ series, ...progress })),
              onTrouble: (text) => shown.show(`waiting: ${redaction.redact(text)}`),
            }),
        );
        shown.end();
        stdout.write(output === 'json' ? jsonText({ kind, from, to, ...report }) : asText(report.series));
        const problems = problemsOf(report, `spconnect backfill ${kind} --from ${from} --to ${to}`);
        stderr.write(problems.map((line) => `${line}\n`).join(''));
        if (problems.length > 0) exitWith(EXIT_CODES.failed);
      } catch (error) {
        shown.end();
        if (signal.aborted) stderr.write('Run the same command again: it goes on where it stopped.\n');
        throw error;
      }
    });
}

/** What has no prices, a line for each reason; at last the command that asks for it alone. */
function problemsOf({ absent, unreadable, series }: BackfillReport, command: string): string[] {
  const lines = unreadable.map(
    ({ topic, partition, reason, records, firstOffset }) =>
      `${records} records of ${topic}, partition ${partition}, cannot be read (${reason}; the first at offset ${firstOffset}): their instruments were left out.`,
  );
  if (absent.length > 0) {
    lines.push(`On no topic of instruments whose prices are followed: ${named(absent)}. Check --isin and prices.from.`);
  }
  for (const { series: name, failed } of series) {
    for (const [problem, products] of Map.groupBy(failed, (one) => one.problem)) {
      const isins = products.map(({ isin }) => isin);
      lines.push(`${name}: the provider gave no prices (${problem}) for ${named(isins)}. Their dead letters say more.`);
    }
  }
  const failed = [...new Set(series.flatMap((one) => one.failed.map(({ isin }) => isin)))];
  if (failed.length > 0) {
    lines.push(
      'The same command does not ask for them again. Ask for them alone:',
      `  ${command} --isin ${failed.slice(0, MOST_ISINS).map(printable).join(' ')}`,
    );
  }
  return lines;
}

function named(isins: readonly string[]): string {
  const more = isins.length > MOST_ISINS ? ` and ${countText(isins.length - MOST_ISINS)} more` : '';
  return `${isins.slice(0, MOST_ISINS).map(printable).join(', ')}${more}`;
}

function progressText({
  series,
  instruments,
  done,
  windows,
  deadLetters,
}: Omit<SeriesReport, 'topic' | 'failed'>): string {
  const dead = deadLetters > 0 ? `, ${countText(deadLetters)} dead letters` : '';
  return `${series}: ${countText(done)} of ${countText(instruments)} instruments, ${countText(windows)} windows${dead}`;
}

function asText(reports: readonly SeriesReport[]): string {
  const rows = reports.map(({ series, topic, instruments, windows, deadLetters, failed }) => [
    series,
    topic,
    ...[instruments, windows, deadLetters, failed.length].map(countText),
  ]);
  return textTable([['series', 'topic', 'instruments', 'windows written', 'dead letters', 'without prices'], ...rows]);
}
