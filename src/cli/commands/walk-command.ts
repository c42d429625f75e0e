import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { SourceSettingsOf } from '../../config/settings.ts';
import type { PlannedKind, WalkPlan } from '../../operator/walk-plan.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { wholeNumberOption } from '../numbers.ts';
import { jsonText, outputOption, textTable } from '../output.ts';
import { commandProgress } from '../progress.ts';
import { knownSource } from './known-source.ts';

interface WalkOptions extends DataOptions {
  readonly allowShrink?: number | null;
  readonly dryRun: boolean;
  readonly ids: number;
}

/** `walk`: one more complete reading of the list, now. */
export function walkCommand(program: Command, { env, stdout, stderr, signal, redaction }: CommandContext): void {
  const command = program
    .command('walk')
    .description('Request a walk: the source reads its complete list now and writes what differs.')
    .argument('<source>', 'the name of an instruments source')
    .option('--allow-shrink <count>', 'allow this walk to delete up to this many instruments', wholeNumberOption)
    .option('--dry-run', 'only show what a walk would write and delete; request nothing', false)
    .option('--ids <count>', 'with --dry-run: the first ids of each kind, at most this many', wholeNumberOption, 10)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nA walk that would delete too many instruments deletes none, and writes a notification with the number.\n' +
        'Ask the provider whether its list is right; then allow that number, for this walk only. --dry-run reads the list\n' +
        'and the topic, and writes nothing.\n\nExamples:\n  spconnect walk instruments --allow-shrink 1200\n' +
        '  spconnect walk instruments --dry-run\n',
    )
    .action(async (name: string, { allowShrink = null, dryRun, ids, output, config }: WalkOptions) => {
      const { atInstallation } = await import('../../operator/installation.ts');
      const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
      const walking = settings.sources.filter((source) => source.type === 'instruments');
      const source: SourceSettingsOf<'instruments'> = knownSource(command, name, walking);
      if (dryRun) {
        const { planWalk } = await import('../../operator/walk-plan.ts');
        const progress = commandProgress(stderr, null);
        const plan = await atInstallation({ settings, signal, needs: ['offsets'] }, (installation) =>
          planWalk(installation, { source, allowShrink, ids, onProgress: progress.show }),
        ).finally(progress.end);
        stdout.write(output === 'json' ? jsonText(plan) : textTable(rowsOf(plan)));
        stderr.write(saidOf(plan));
        return;
      }
      const { requestWalk } = await import('../../operator/state-operation.ts');
      const walk = await atInstallation({ settings, signal, needs: ['states'] }, (installation) =>
        requestWalk(installation, { source: source.name, allowShrink }),
      );
      const allowed = allowShrink === null ? '' : `may delete ${allowShrink} instruments`;
      stdout.write(
        output === 'json'
          ? jsonText({ source: source.name, ...walk })
          : textTable([[source.name, 'walk requested', allowed]]),
      );
      stderr.write(
        'Requested. A running connector starts it now, or after the walk that is running; a stopped one when it starts.\n',
      );
    });
}

const KINDS: Readonly<Record<PlannedKind, string>> = {
  added: 'would be added',
  corrected: 'would be corrected',
  reEncoded: 'would be written in the current schema',
  deadLetters: 'cannot be mapped, and would be dead letters',
  gone: 'on the topic alone',
};

function rowsOf({ counts, ids }: WalkPlan): string[][] {
  const kinds = Object.entries(KINDS) as [PlannedKind, string][];
  return kinds.map(([kind, what]) => {
    const more = counts[kind] > ids[kind].length && ids[kind].length > 0 ? ', ...' : '';
    return [kind, String(counts[kind]), what, `${ids[kind].join(', ')}${more}`];
  });
}

const DELETES_NOT = {
  emptyList: 'the list is empty, so a walk would delete nothing unless --allow-shrink allows it',
  tooMany: 'they are too many, so a walk would delete none of them unless --allow-shrink allows it',
  tombstonesOff: 'the source deletes nothing (tombstones: false)',
};

function saidOf({ source, topic, rows, held, counts, deletes, deletesNot }: WalkPlan): string {
  const why =
    typeof deletesNot === 'string'
      ? DELETES_NOT[deletesNot]
      : `the list cannot be trusted (${deletesNot?.join(', ')}), so a walk would delete nothing`;
  const gone =
    counts.gone === 0 ? '' : deletes ? ` A walk would delete ${counts.gone}.` : ` Of those that are gone: ${why}.`;
  const spared =
    counts.contradicting === 0 ? '' : ` ${counts.contradicting} rows differ from recent events, and would not be used.`;
  const { knownDeadLetters } = counts;
  const known = knownDeadLetters === 0 ? '' : ` ${knownDeadLetters} rows are dead letters already.`;
  return `Nothing was written. The list of source ${source} has ${rows} rows, ${topic} holds ${held} instruments.${gone}${spared}${known}\n`;
}
