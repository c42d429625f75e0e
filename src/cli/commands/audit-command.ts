import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { SourceSettingsOf } from '../../config/settings.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../../connector/walk/instruments-settings.ts';
import type { AuditDifference, AuditReport } from '../../operator/audit-operation.ts';
import type { WalkTimes } from '../../operator/committed-walks.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { jsonText, outputOption, textTable } from '../output.ts';
import { commandProgress } from '../progress.ts';
import { EXIT_CODES } from '../terminal.ts';
import { durationOption } from '../times.ts';
import { knownSource } from './known-source.ts';

/** Beyond poll and margin, for the commit and its way to a reader. */
const COMMIT_MS = 5_000;
const LONGEST_VALUE = 60;

interface AuditOptions extends DataOptions {
  readonly settle?: number;
}

/** `audit`: whether the topic is what the provider has. What differs goes to stdout. */
export function auditCommand(program: Command, context: CommandContext): void {
  const { env, stdout, stderr, signal, exitWith, redaction } = context;
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
        'the topic differs: a walk corrects it. Instruments that left the list after the last walk are no difference: the\n' +
        'next walk deletes them.\n\nExample:\n  spconnect audit instruments\n',
    )
    .action(async (name: string | undefined, { config, output, settle }: AuditOptions) => {
      const { auditSource } = await import('../../operator/audit-operation.ts');
      const { atInstallation } = await import('../../operator/installation.ts');
      const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
      const all = settings.sources.filter((source) => source.type === 'instruments');
      const audited: readonly SourceSettingsOf<'instruments'>[] =
        name === undefined ? all : [knownSource(command, name, all)];
      const progress = commandProgress(stderr, null);
      const reports: AuditReport[] = [];
      for (const source of audited) {
        const settleMs = settle ?? source.pollIntervalMs + source.handoffMarginMs + COMMIT_MS;
        const work = await atInstallation({ settings, signal, needs: ['offsets'] }, (installation) =>
          auditSource(installation, { source, settleMs, onProgress: progress.show }),
        ).finally(progress.end);
        reports.push(work);
      }
      const differing = reports.filter(({ differences }) => differences.length > 0);
      const rows = [HEADER, ...reports.flatMap(rowsOf)];
      stdout.write(output === 'json' ? jsonText(reports) : differing.length > 0 ? textTable(rows) : '');
      for (const report of reports) stderr.write(summaryOf(report));
      if (differing.length > 0) exitWith(EXIT_CODES.failed);
    });
}

const HEADER = ['source', 'instrument', 'found', 'field'];

const MEANINGS: Readonly<Record<AuditDifference['kind'], string>> = {
  missing: 'the provider lists it, the topic has no record of it',
  different: 'the record on the topic has other values than the list, field by field above',
  extra: 'the topic has a record of it, the list has not; a walk is overdue, or would not delete so many unasked',
};

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

function summaryOf({ source, topic, rows, unmapped, differences, left, walks, unsettled }: AuditReport): string {
  const kinds = Object.entries(MEANINGS).flatMap(([kind, meaning]) => {
    const count = differences.filter((one) => one.kind === kind).length;
    return count === 0 ? [] : [{ kind, meaning, count }];
  });
  const totals = kinds.map(({ kind, count }) => `${count} ${kind}`).join(', ');
  const lines = [
    `Compared ${topic} with the list of source ${source} (${rows} rows): ${totals || 'no differences'}.`,
    ...kinds.map(({ kind, meaning }) => `${kind}: ${meaning}.`),
    ...(left.length === 0 ? [] : [`${left.length} left the list, which is no difference: ${whenDeleted(walks)}.`]),
    ...(unmapped === 0
      ? []
      : [`${unmapped} rows could not be mapped and were not compared: see spconnect dead-letters list.`]),
    ...(unsettled.length === 0 ? [] : [`${unsettled.length} changed during the audit and could not be compared.`]),
    ...(kinds.length === 0
      ? []
      : [`To correct the topic, request a walk, and audit again when it is done: ${walkOf(source, differences)}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** Only as many as it may always delete are deleted unasked, whatever the source's settings. */
function walkOf(source: string, differences: AuditReport['differences']): string {
  const extra = differences.filter(({ kind }) => kind === 'extra').length;
  return `spconnect walk ${source}${extra > SHRINK_ALWAYS_ALLOWED ? ` --allow-shrink ${extra}` : ''}`;
}

function whenDeleted(walks: WalkTimes | null): string {
  if (walks === null) return 'they stay, since the source deletes nothing';
  const after = `the last walk, of ${walks.startedAt}, had seen them`;
  return walks.isRunning
    ? `${after}; it still runs`
    : `${after}, the next deletes them, at ${walks.nextAt} or on request`;
}
