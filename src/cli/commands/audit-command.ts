import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { SourceSettingsOf } from '../../config/settings.ts';
import { createProgressLine } from '../../local-stack/progress-line.ts';
import type { Redaction } from '../../observability/redaction.ts';
import type { AuditReport } from '../../operator/audit-operation.ts';
import { systemClock } from '../../support/clock.ts';
import { jsonText, type Output, outputOption, textTable } from '../output.ts';
import { EXIT_CODES, type Terminal } from '../terminal.ts';
import { durationOption } from '../times.ts';
import { knownSource } from './known-source.ts';

/** Beyond poll and margin, for the commit and its way to a reader. */
const COMMIT_MS = 5_000;
const LONGEST_VALUE = 60;

interface AuditOptions {
  readonly config: string;
  readonly output: Output;
  readonly settle?: number;
}

/** `audit`: whether the topic is what the provider has. What differs goes to stdout. */
export function auditCommand(
  program: Command,
  terminal: Terminal,
  exitWith: (code: number) => void,
  redaction: Redaction,
): void {
  const { env, stdout, stderr, signal } = terminal;
  const command = program
    .command('audit')
    .description("Compare the instruments topic with the provider's list, field by field; changes nothing.")
    .argument('[source]', 'the name of an instruments source; without it, all of them')
    .option(
      '--settle <duration>',
      'how long a change may take to reach the topic, like 30s; by default from the settings',
      durationOption,
    )
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nRows that differ are compared again after --settle, since the provider changes meanwhile. The exit code is 1 when\n' +
        'the topic differs: a walk corrects it.\n\nExample:\n  spconnect audit instruments\n',
    )
    .action(async (name: string | undefined, { config, output, settle }: AuditOptions) => {
      const { auditSource } = await import('../../operator/audit-operation.ts');
      const { atInstallation } = await import('../../operator/installation.ts');
      const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
      const all = settings.sources.filter((source) => source.type === 'instruments');
      const audited: readonly SourceSettingsOf<'instruments'>[] =
        name === undefined ? all : [knownSource(command, name, all)];
      const line = createProgressLine(stderr, () => systemClock.monotonicMs());
      const onProgress = (text: string) => {
        if (stderr.isTTY === true) line.show(text);
      };
      const reports: AuditReport[] = [];
      for (const source of audited) {
        const settleMs = settle ?? source.pollIntervalMs + source.handoffMarginMs + COMMIT_MS;
        const work = await atInstallation({ settings, signal, needs: ['offsets'] }, (installation) =>
          auditSource(installation, { source, settleMs, onProgress }),
        ).finally(() => {
          if (stderr.isTTY === true) line.end();
        });
        reports.push(work);
      }
      stdout.write(output === 'json' ? jsonText(reports) : textTable(reports.flatMap(rowsOf)));
      for (const report of reports) stderr.write(summaryOf(report));
      const differing = reports.filter(({ differences }) => differences.length > 0);
      if (differing.length === 0) return;
      const walks = differing.map(({ source }) => `spconnect walk ${source}`).join(', ');
      stderr.write(`A walk corrects what differs, except rows that are dead letters: ${walks}.\n`);
      exitWith(EXIT_CODES.failed);
    });
}

function rowsOf({ source, differences }: AuditReport): string[][] {
  return differences.flatMap(({ id, kind, fields }) =>
    fields.length === 0
      ? [[source, id, kind, '']]
      : fields.map(({ pointer, provider, topic }) => [
          source,
          id,
          kind,
          `${pointer}: the provider has ${short(provider)}, the topic ${short(topic)}`,
        ]),
  );
}

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

function summaryOf({ source, topic, rows, unmapped, differences, unsettled }: AuditReport): string {
  const dead = unmapped === 0 ? '' : ` ${unmapped} rows could not be mapped and were not compared.`;
  const moving =
    unsettled.length === 0 ? '' : ` ${unsettled.length} changed during the audit and could not be compared.`;
  const found = differences.length === 0 ? 'no differences' : `${differences.length} instruments differ`;
  return `Compared ${topic} with the list of source ${source} (${rows} rows): ${found}.${dead}${moving}\n`;
}
