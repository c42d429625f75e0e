import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countText } from '../admin/texts.ts';
import { settingsFile } from '../config/load.ts';
import { saysThatThereIsNone } from '../prices/core/price-state.ts';
import { epochDays } from '../records/avro/instant.ts';
import { atInstallation } from '../run/installation.ts';
import { plannedTopics, priceInputs } from '../run/planned-topics.ts';
import { type BackfillReport, backfill, type SeriesReport } from './backfill/backfill-operation.ts';
import type { BackfilledKind } from './backfill/backfill-plan.ts';
import { loadWholeSettings } from './command-settings.ts';
import { instantMs } from './shell/option-values.ts';
import { commandProgress, print, printable, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

const DAY_MS = 86_400_000;
const LINE_EVERY_MS = 5_000;
/** The most products that a message names; more products go to a file. */
const MOST_ISINS = 30;

interface BackfillOptions {
  readonly from?: string;
  readonly to?: string;
  readonly isin?: readonly string[];
  readonly isinFile?: string;
  readonly rate?: number;
}

export async function backfillCommand(
  context: CommandContext,
  options: BackfillOptions,
  kind: BackfilledKind,
): Promise<void> {
  const { config, stderr, signal, redaction, exitWith, refuse } = context;
  const { from, to, rate } = options;
  const form = kind === 'daily' ? 'a day like 2026-03-31' : 'an instant like 2026-03-31T12:00:00Z';
  const msOf = (text = '') => (kind === 'daily' ? dayMs(text) : instantMs(text));
  const [fromMs, lastMs] = [msOf(from), msOf(to)];
  const wrong = Object.entries({ from, to })
    .filter(([, text]) => msOf(text) === null)
    .map(([name, text]) => (text === undefined ? `no --${name}` : `--${name} ${printable(text)}`));
  if (fromMs === null || lastMs === null) return refuse(`found ${wrong.join(' and ')}; expected ${form}.`);
  const range = { fromMs, toMs: lastMs + (kind === 'daily' ? DAY_MS : 0) };
  if (fromMs >= range.toMs) refuse('found a --from that is not before --to; expected an earlier --from.');
  const isins = [
    ...(options.isin ?? []),
    ...(options.isinFile === undefined
      ? []
      : await isinsOf(options.isinFile).catch((error: Error) => refuse(`--isin-file: ${error.message}`))),
  ];
  const settings = await loadWholeSettings(context);
  const shown = commandProgress(stderr, LINE_EVERY_MS);
  const latest = new Map<string, Pick<SeriesReport, 'series' | 'groupId' | 'failed'>>();
  const again = [
    `spconnect backfill ${kind} --from ${from} --to ${to}`,
    ...(rate === undefined ? [] : [`--rate ${rate}`]),
    ...(config === settingsFile(undefined, context.env) ? [] : [`--config ${shellWord(config)}`]),
  ].join(' ');
  const say = (lines: readonly string[]) => stderr.write(lines.map((line) => `${line}\n`).join(''));
  try {
    const inputs = plannedTopics(settings, priceInputs(settings).topics);
    const report = await atInstallation({ settings, signal, needs: [...inputs, 'dead-letters'] }, (at) =>
      backfill(at, {
        kind,
        range,
        isins: new Set(isins),
        rate: rate ?? null,
        refuse,
        onProgress(series, progress) {
          latest.set(series, { series, groupId: progress.groupId, failed: progress.failed });
          shown.show(progressText({ series, ...progress }));
        },
        onTrouble: (text) => shown.show(`waiting: ${redaction.redact(text)}`),
      }),
    );
    shown.end();
    const series = report.series.map(separated);
    print(context, { kind, from, to, ...report, series }, asText(series));
    const { notes, problems } = await problemsOf(report, report.series, { command: again, isins });
    say([...notes, ...problems]);
    if (problems.length > 0) exitWith(EXIT_CODES.failed);
  } catch (error) {
    shown.end();
    if (signal.aborted) {
      const { notes, problems } = await problemsOf({ absent: [], unreadable: [] }, [...latest.values()], {
        command: again,
        isins,
      });
      say([...notes, ...problems, 'Run the same command again: it continues where it stopped.']);
    }
    throw error;
  }
}

/**
 * A line for each reason why prices are missing, and finally the command that requests the failed products alone. If
 * the provider has no prices for a product, as for a repaid product, the line is only a note.
 */
async function problemsOf(
  { absent, unreadable }: Pick<BackfillReport, 'absent' | 'unreadable'>,
  series: readonly (Pick<SeriesReport, 'series' | 'failed'> & Partial<SeriesReport>)[],
  { command, isins: asked }: { readonly command: string; readonly isins: readonly string[] },
) {
  const notes = series
    .filter(({ windows, instruments = 0, failed }) => windows === 0 && instruments > failed.length)
    .map(
      ({ series: name }) =>
        `${name}: no window was written. The provider has none in this range, or an earlier run wrote them.`,
    );
  const problems = unreadable.map(
    ({ topic, partition, reason, records, firstOffset }) =>
      `${records} records of ${topic}, partition ${partition}, cannot be read (${reason}; first offset: ${firstOffset}). Instruments of these records were omitted.`,
  );
  if (absent.length > 0) {
    problems.push(
      `No instrument of the topics in prices.from has these ISINs: ${named(absent)}. Check --isin and prices.from.`,
    );
  }
  for (const { series: name, failed } of series) {
    for (const [problem, products] of Map.groupBy(failed, (one) => one.problem)) {
      const isins = products.map(({ isin }) => isin);
      const lines = saysThatThereIsNone(problem) ? notes : problems;
      lines.push(`${name}: the provider gave no prices (${problem}) for ${named(isins)}. Their dead letters say why.`);
    }
  }
  const mayComeYet = series.flatMap(({ failed }) => failed).filter(mayCome);
  const failed = [...new Set(mayComeYet.map(({ isin }) => isin))];
  if (failed.length === 0) return { notes, problems };
  const groups = series.flatMap(({ groupId, failed: some }) => (some.some(mayCome) ? (groupId ?? []) : []));
  const again = 'The same command does not repeat these requests. To request them again';
  if (groups.length > 0 && failed.length === new Set(asked).size) {
    // Equal requests have the same progress, so a command for the same products would find its work done.
    const reset = groups.map((id) => `  kafka-consumer-groups.sh --bootstrap-server <broker> --delete --group ${id}`);
    problems.push(`${again}, delete their progress, and run the command again:`, ...reset);
  } else problems.push(`${again}:`, `  ${command} ${await productsOption(failed)}`);
  return { notes, problems };
}

/** The option that selects these products; more than 30 products go to a file. Exported for tests. */
export async function productsOption(isins: readonly string[], folder = '.'): Promise<string> {
  if (isins.length <= MOST_ISINS) return `--isin ${isins.map(printable).join(' ')}`;
  const name = `backfill-isins-${randomUUID().slice(0, 8)}.txt`;
  const text = isins.map((isin) => `${isin}\n`).join('');
  const [here, temporary] = [join(folder, name), join(tmpdir(), name)];
  const file = await writeFile(here, text).then(
    () => here,
    () => writeFile(temporary, text).then(() => temporary),
  );
  return `--isin-file ${shellWord(file)}`;
}

/** Reads one ISIN from each line. Exported for tests. @throws Error that names an unreadable or empty file. */
export async function isinsOf(file: string): Promise<readonly string[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim());
  const isins = lines.filter((isin) => isin !== '');
  if (isins.length === 0) throw new Error(`${file} has no ISIN; expected an ISIN in each line`);
  return isins;
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Accepts only days of the calendar; Date.parse reads February 30 as a day in March. */
function dayMs(text: string): number | null {
  const days = epochDays(text);
  return days === null ? null : days * DAY_MS;
}

function named(isins: readonly string[]): string {
  const more = isins.length > MOST_ISINS ? ` and ${countText(isins.length - MOST_ISINS)} more` : '';
  return `${isins.slice(0, MOST_ISINS).map(printable).join(', ')}${more}`;
}

function progressText(progress: Omit<SeriesReport, 'topic' | 'groupId' | 'failed'>): string {
  const { series, instruments, done, windows, deadLetters } = progress;
  const dead = deadLetters > 0 ? `, ${countText(deadLetters)} dead letters` : '';
  return `${series}: ${countText(done)} of ${countText(instruments)} instruments, ${countText(windows)} windows${dead}`;
}

/** Separates the products for which the provider has no prices: these are no failure. */
function separated({ failed, ...report }: SeriesReport) {
  return { ...report, withoutPrices: failed.filter((one) => !mayCome(one)), failed: failed.filter(mayCome) };
}

function mayCome({ problem }: SeriesReport['failed'][number]): boolean {
  return !saysThatThereIsNone(problem);
}

function asText(reports: readonly ReturnType<typeof separated>[]): string {
  const rows = reports.map(({ series, topic, instruments, windows, deadLetters, withoutPrices, failed }) => [
    series,
    topic,
    ...[instruments, windows, deadLetters, withoutPrices.length, failed.length].map(countText),
  ]);
  const counts = [
    'instruments',
    'windows written now',
    'dead letters written now',
    'no prices (404, 410, null)',
    'failed',
  ];
  return textTable([['series', 'topic', ...counts], ...rows]);
}
